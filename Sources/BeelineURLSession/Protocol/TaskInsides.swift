// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import Dispatch
import Foundation
import FoundationNetworking
import NIOConcurrencyHelpers

/// Internal state of a task of Foundation on Linux that a protocol class needs, read by reflection.
///
/// It names stored properties of Foundation's classes (of Swift 6.3). If one is missing, its value here is `nil`: the features
/// that need it are skipped or fail with an error, but never use a wrong value. `TaskInsidesTests` detects this.
struct TaskInsides {
    /// The session of the task, with its configuration, delegate and delegate queue.
    let session: URLSession?
    /// The session's queue for calls between Foundation and protocol objects.
    let workQueue: DispatchQueue?
    /// The body of an upload task; `nil` if Foundation would ask the delegate for a stream.
    let body: Body?
    /// Whether a delegate receives the response in pieces; `nil` if not known.
    let isForDelegate: Bool?
    /// Whether this was created on the work queue, where state that Foundation does not lock can be read.
    let isOnWorkQueue: Bool

    /// The location of a task's body.
    enum Body {
        case none
        case data(DispatchData)
        case file(URL)
        case stream(InputStream)
        /// An unknown location.
        case unknown
    }

    /// Reads the state of a task. All values are available only on its work queue, as in `startLoading`.
    init(_ task: URLSessionTask) {
        let isUpload = task is URLSessionUploadTask
        let members = Self.members(isUpload ? ["session", "knownBody"] : ["session"], of: task)
        let session = members["session"] as? URLSession
        let insides = session.map(SessionInsides.of)
        self.session = session
        workQueue = insides?.workQueue
        isOnWorkQueue = insides?.isOnWorkQueue ?? false
        body = isUpload ? Self.body(members["knownBody"]) : Body.none
        if session?.delegate == nil, task.delegate == nil {
            // Without a delegate, pieces have no receiver.
            isForDelegate = false
        } else {
            isForDelegate =
                isOnWorkQueue
                ? insides?.registry.flatMap { Self.behaviour(of: task, in: $0) }.map(Self.isForDelegate) : nil
        }
    }

    /// The delegate of one task alone (`data(for:delegate:)`), which the task does not expose. The search is slow. Call it on
    /// the session's work queue.
    static func ownDelegate(of task: URLSessionTask, in session: URLSession) -> (any URLSessionTaskDelegate)? {
        guard let registry = SessionInsides.of(session).registry,
            let behaviour = behaviour(of: task, in: registry),
            let payload = Mirror(reflecting: behaviour).children.first,
            payload.label == "dataCompletionHandlerWithTaskDelegate"
        else { return nil }
        return Mirror(reflecting: payload.value).children.dropFirst().first?.value as? any URLSessionTaskDelegate
    }

    private static func body(_ member: Any?) -> Body? {
        guard let member else { return .unknown }
        guard let body = unwrapped(member) else { return nil }
        if let payload = Mirror(reflecting: body).children.first?.value {
            if let data = payload as? DispatchData { return .data(data) }
            if let file = payload as? URL { return .file(file) }
            if let stream = payload as? InputStream { return .stream(stream) }
            return .unknown
        }
        return "\(body)" == "none" ? Body.none : .unknown
    }

    /// How Foundation handles a task's response.
    private static func behaviour(of task: URLSessionTask, in registry: AnyObject) -> Any? {
        let table = members(["behaviours"], of: registry)["behaviours"] as? any TaskTable
        return table?.entry(of: task.taskIdentifier)
    }

    private static func isForDelegate(_ behaviour: Any) -> Bool {
        // Describing a behaviour that holds a closure is the most expensive step; skip it.
        Mirror(reflecting: behaviour).children.isEmpty && "\(behaviour)" == "callDelegate"
    }

    /// Returns stored properties of an object, of its class and its superclasses.
    static func members(_ names: [String], of object: Any) -> [String: Any] {
        let key = PlacesKey(type: ObjectIdentifier(type(of: object)), names: names)
        let found = places.withLockedValue { places in
            if let known = places[key] { return known }
            let found = search(names, object)
            places[key] = found
            return found
        }
        var members: [String: Any] = [:]
        var mirror: Mirror? = Mirror(reflecting: object)
        var level = 0
        for place in found {
            while level < place.level {
                mirror = mirror?.superclassMirror
                level += 1
            }
            guard let children = mirror?.children else { break }
            members[place.name] = children[children.index(children.startIndex, offsetBy: place.index)].value
        }
        return members
    }

    /// Finds the positions of properties, from the subclass upwards.
    private static func search(_ names: [String], _ object: Any) -> [Place] {
        var missing = Set(names)
        var found: [Place] = []
        for (level, mirror) in sequence(first: Mirror(reflecting: object), next: \.superclassMirror).enumerated() {
            for (index, child) in mirror.children.enumerated() {
                guard let label = child.label else { continue }
                let name = label.hasPrefix(lazyPrefix) ? String(label.dropFirst(lazyPrefix.count)) : label
                if missing.remove(name) != nil { found.append(Place(name: name, level: level, index: index)) }
            }
        }
        return found
    }

    /// The position of a stored property: the number of superclass steps, and the index within that class.
    private struct Place {
        let name: String
        let level: Int
        let index: Int
    }

    /// A class and the names of the properties to find in it.
    private struct PlacesKey: Hashable {
        let type: ObjectIdentifier
        let names: [String]
    }

    /// The positions that were found, because a check of each property takes half a microsecond. The classes are a few of
    /// Foundation's, and the names are fixed, so the size is bounded.
    private static let places = NIOLockedValueBox<[PlacesKey: [Place]]>([:])
    private static let lazyPrefix = "$__lazy_storage_$_"

    /// The value in an optional; any other value unchanged.
    private static func unwrapped(_ value: Any) -> Any? {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return mirror.children.first?.value
    }
}

/// A table of tasks by number, whose entries have a private type.
private protocol TaskTable {
    func entry(of number: Int) -> Any?
}

extension Dictionary: TaskTable where Key == Int {
    fileprivate func entry(of number: Int) -> Any? { self[number] }
}
#else
/// Other platforms expose the state of a task.
enum TaskInsides {}
#endif
