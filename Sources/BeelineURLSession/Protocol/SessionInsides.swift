// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import Dispatch
import Foundation
import FoundationNetworking
import NIOConcurrencyHelpers

/// What is the same for all tasks of a session, which is looked for once.
///
/// `@unchecked Sendable`: what the registry holds is read on the work queue alone.
struct SessionInsides: @unchecked Sendable {
    private weak var session: URLSession?
    /// The queue on which Foundation calls protocols and wants to be called by them.
    let workQueue: DispatchQueue?
    /// The table of the session's tasks.
    private(set) weak var registry: AnyObject?

    /// Sessions that are known at a time; beyond that, all are looked into again.
    private static let maxSessions = 64
    private static let known = NIOLockedValueBox<[ObjectIdentifier: SessionInsides]>([:])
    /// On a session's work queue, whose it is.
    private static let owner = DispatchSpecificKey<ObjectIdentifier>()

    /// Looks into a session, or remembers it.
    static func of(_ session: URLSession) -> SessionInsides {
        known.withLockedValue { known in
            let key = ObjectIdentifier(session)
            // Another one may have been where this one is.
            if let insides = known[key], insides.session === session { return insides }
            if known.count >= maxSessions { known = [:] }
            let insides = SessionInsides(session)
            known[key] = insides
            return insides
        }
    }

    private init(_ session: URLSession) {
        let members = TaskInsides.members(["workQueue", "taskRegistry"], of: session)
        self.session = session
        workQueue = members["workQueue"] as? DispatchQueue
        registry = members["taskRegistry"].map { $0 as AnyObject }
        workQueue?.setSpecific(key: Self.owner, value: ObjectIdentifier(session))
    }

    /// Whether the caller is on the work queue, or on that of a task, which leads to it.
    var isOnWorkQueue: Bool {
        session.map { DispatchQueue.getSpecific(key: Self.owner) == ObjectIdentifier($0) } ?? false
    }
}
#endif
