// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import Dispatch
import Foundation
import FoundationNetworking
import NIOConcurrencyHelpers

/// The internal state that all tasks of a session share. It is read once for each session.
///
/// `@unchecked Sendable`: the content of the registry is read only on the work queue.
struct SessionInsides: @unchecked Sendable {
    private weak var session: URLSession?
    /// The queue for calls between Foundation and protocol objects.
    let workQueue: DispatchQueue?
    /// The session's table of tasks.
    private(set) weak var registry: AnyObject?

    /// The maximum number of remembered sessions. When it is reached, all are forgotten and read again.
    private static let maxSessions = 64
    private static let known = NIOLockedValueBox<[ObjectIdentifier: SessionInsides]>([:])
    /// Marks a work queue with the identity of its session.
    private static let owner = DispatchSpecificKey<ObjectIdentifier>()

    /// Returns the internal state of a session. It is read once and then remembered.
    static func of(_ session: URLSession) -> SessionInsides {
        known.withLockedValue { known in
            let key = ObjectIdentifier(session)
            // A new session may have the address of a deallocated one.
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

    /// Whether the caller is on the work queue, or on a task's queue that targets it.
    var isOnWorkQueue: Bool {
        session.map { DispatchQueue.getSpecific(key: Self.owner) == ObjectIdentifier($0) } ?? false
    }
}
#endif
