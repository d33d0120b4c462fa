// SPDX-License-Identifier: Apache-2.0

import Names

extension LookupMachine {
    /// The inputs of the machine.
    enum Event {
        // Lookups
        /// A caller waits for a name. `isFresh`: the cache and shared answers are ignored.
        case asked(LookupRequest, by: CallerID, isFresh: Bool)
        /// A caller waits for an origin. After the first usable address it waits at most `delay` for the HTTPS records.
        case askedOrigin(OriginRequest, by: CallerID, isFresh: Bool, delay: Duration)
        /// The HTTPS records of an origin or the addresses of their targets have expired, and should be cached for the
        /// next caller.
        case servicesMissed(OriginRequest)
        /// No endpoint of the HTTPS records of an origin could be reached.
        case servicesFailed(OriginRequest)
        /// An upstream answered a question for HTTPS records or failed.
        case servicesAnswered(PendingServiceQuestion.ID, Result<ServiceReply, UpstreamError>)
        /// A caller no longer waits.
        case cancelled(CallerID)
        /// A name was not in the cache, and its answer should be cached for the next caller.
        case missed(LookupRequest)
        /// A cached answer is in frequent use and about to expire.
        case refreshDue(LookupRequest)
        /// No upstream answers, and one may be asked whether it works again.
        case probeDue
        /// An upstream answered or failed. `after`: its response time; nil: the answer is from another resolver.
        case answered(UpstreamQuestion, Result<Answer, UpstreamError>, after: Duration?)
        /// An upstream answered several names, or failed.
        case batchAnswered(BatchQuestion, Result<[Host: Answer], UpstreamError>)
        /// The moment of the last ``Action/wake(at:)`` has come.
        case timePassed

        // Changes around the lookups
        /// A connection attempt to an endpoint of a name ended.
        case attemptEnded(AttemptOutcome, at: Endpoint, of: Host)
        /// The resolver found the machine's network, which was unknown.
        case networkFound(Network)
        /// The machine is in another network.
        case networkChanged(Network)
        /// The NAT64 prefixes of a network were found.
        case nat64Found([NAT64Prefix], in: Network)
        /// A name was answered again after a network change.
        case answeredAgain(Host)
        /// The program turned the resolver on or off.
        case switched(on: Bool)
        /// The remote switch returned a document, at this number of seconds since 1970.
        case documentReceived(RemoteDocument, wall: Int64)
        /// The remote switch returned no document.
        case documentMissed
        /// The document of the remote switch may have expired, at this number of seconds since 1970.
        case documentChecked(wall: Int64)
        /// The store returned answers, at this number of seconds since 1970.
        case restored([StoredAnswer], wall: Int64)
        /// A name is removed from the cache, or all names.
        case forgotten(Host?)
        /// The resolver is shut down.
        case closed
    }

    /// The outputs of the machine. The driver performs them in this order and outside its lock.
    enum Action {
        /// Ask an upstream.
        case ask(UpstreamQuestion)
        /// Cancel a question.
        case stopAsking(UpstreamQuestion.ID)
        /// Ask an upstream for HTTPS records.
        case askServices(PendingServiceQuestion)
        /// Cancel a question for HTTPS records.
        case stopAskingServices(PendingServiceQuestion.ID)
        /// Give callers the result of their lookup.
        case resume([CallerID], Result<LookupResult, ResolutionError>)
        /// Report ``Event/timePassed`` at this moment instead of a later one.
        case wake(at: Moment)
        /// Tell the upstreams and the program about the network.
        case announce(Network)
    }
}
