// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import Dispatch
import Foundation
import FoundationNetworking

/// What a task of Foundation on Linux does not tell, and a protocol class cannot do without: read by reflection.
///
/// It names stored properties of Foundation's classes (of Swift 6.3). Where one is gone, its value here is nil, and what
/// depends on it is done without it or is an error, never done wrong; `TaskInsidesTests` notices.
struct TaskInsides {
    /// The session of the task: its configuration, delegate and delegate queue.
    let session: URLSession?
    /// The queue on which Foundation calls protocols and wants to be called by them.
    let workQueue: DispatchQueue?
    /// The body of an upload task; nil where Foundation would ask the delegate for a stream.
    let body: Body?
    /// Whether pieces of the response go to a delegate; nil: not known.
    let isForDelegate: Bool?

    /// Where the body of a task is.
    enum Body {
        case none
        case data(DispatchData)
        case file(URL)
        case stream(InputStream)
        /// It is somewhere else.
        case unknown
    }

    /// Must be made on the task's work queue, as in `startLoading`: the table of the session's tasks is read.
    init(_ task: URLSessionTask) {
        session = Self.value("session", of: task) as? URLSession
        workQueue = Self.value("workQueue", of: task) as? DispatchQueue
        body = Self.body(of: task)
        isForDelegate = session.flatMap { Self.isForDelegate(task, of: $0) }
    }

    private static func body(of task: URLSessionTask) -> Body? {
        guard let member = member("knownBody", of: task) else { return .unknown }
        guard let body = unwrapped(member) else { return nil }
        if let payload = Mirror(reflecting: body).children.first?.value {
            if let data = payload as? DispatchData { return .data(data) }
            if let file = payload as? URL { return .file(file) }
            if let stream = payload as? InputStream { return .stream(stream) }
            return .unknown
        }
        return "\(body)" == "none" ? Body.none : .unknown
    }

    private static func isForDelegate(_ task: URLSessionTask, of session: URLSession) -> Bool? {
        guard let registry = value("taskRegistry", of: session), let table = value("behaviours", of: registry) else {
            return nil
        }
        for entry in Mirror(reflecting: table).children {
            let pair = Mirror(reflecting: entry.value).children.map(\.value)
            guard pair.count == 2, pair[0] as? Int == task.taskIdentifier else { continue }
            return "\(pair[1])" == "callDelegate"
        }
        return nil
    }

    /// A stored property of an object, of its class or of one above it, without the optional around it.
    private static func value(_ name: String, of object: Any) -> Any? { member(name, of: object).flatMap(unwrapped) }

    private static func member(_ name: String, of object: Any) -> Any? {
        var mirror: Mirror? = Mirror(reflecting: object)
        while let level = mirror {
            if let child = level.children.first(where: { $0.label == name || $0.label == "$__lazy_storage_$_" + name })
            {
                return child.value
            }
            mirror = level.superclassMirror
        }
        return nil
    }

    private static func unwrapped(_ value: Any) -> Any? {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return mirror.children.first?.value
    }
}
#endif
