// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import Dispatch
import Foundation
import FoundationNetworking
import NIOConcurrencyHelpers

/// What a task of Foundation on Linux does not tell, and a protocol class cannot do without: read by reflection.
///
/// It names stored properties of Foundation's classes (of Swift 6.3). Where one is gone, its value here is nil, and what
/// depends on it is done without it or is an error, never done wrong; `TaskInsidesTests` notices.
struct TaskInsides {
    /// The session of the task: its configuration, delegate and delegate queue.
    let session: URLSession?
    /// The session's queue, on which Foundation calls protocols and wants to be called by them.
    let workQueue: DispatchQueue?
    /// The body of an upload task; nil where Foundation would ask the delegate for a stream.
    let body: Body?
    /// Whether pieces of the response go to a delegate; nil: not known.
    let isForDelegate: Bool?
    /// Whether this was made on the work queue, where all can be read that Foundation does not lock.
    let isOnWorkQueue: Bool

    /// Where the body of a task is.
    enum Body {
        case none
        case data(DispatchData)
        case file(URL)
        case stream(InputStream)
        /// It is somewhere else.
        case unknown
    }

    /// Looks into a task. All is found on its work queue alone, as in `startLoading`.
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
            // There is nobody who could get pieces.
            isForDelegate = false
        } else {
            isForDelegate =
                isOnWorkQueue
                ? insides?.registry.flatMap { Self.behaviour(of: task, in: $0) }.map(Self.isForDelegate) : nil
        }
    }

    /// The delegate of one task alone (`data(for:delegate:)`), whom the task does not name. It takes a while, and is for the
    /// session's work queue.
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

    /// What becomes of a task's response.
    private static func behaviour(of task: URLSessionTask, in registry: AnyObject) -> Any? {
        let table = members(["behaviours"], of: registry)["behaviours"] as? any TaskTable
        return table?.entry(of: task.taskIdentifier)
    }

    private static func isForDelegate(_ behaviour: Any) -> Bool {
        // Printing one that holds a closure costs more than all the rest.
        Mirror(reflecting: behaviour).children.isEmpty && "\(behaviour)" == "callDelegate"
    }

    /// Stored properties of an object, of its class and of those above it. The same ones are to be asked for each time.
    static func members(_ names: [String], of object: Any) -> [String: Any] {
        let type = ObjectIdentifier(Swift.type(of: object))
        let found = places.withLockedValue { places in
            if let known = places[type] { return known }
            let found = search(names, object)
            places[type] = found
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

    /// Where properties are, the lowest class first.
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

    /// Where a stored property is: so many classes up, and which of that class's.
    private struct Place {
        let name: String
        let level: Int
        let index: Int
    }

    /// What was found for the classes that were asked before: to look at each property costs half a microsecond. They are
    /// Foundation's classes, a handful.
    private static let places = NIOLockedValueBox<[ObjectIdentifier: [Place]]>([:])
    private static let lazyPrefix = "$__lazy_storage_$_"

    /// What is in an optional; any other value as it is.
    private static func unwrapped(_ value: Any) -> Any? {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return mirror.children.first?.value
    }
}

/// A table of tasks by their numbers, of whatever private type the entries are.
private protocol TaskTable {
    func entry(of number: Int) -> Any?
}

extension Dictionary: TaskTable where Key == Int {
    fileprivate func entry(of number: Int) -> Any? { self[number] }
}
#else
/// Elsewhere a task tells what is needed.
enum TaskInsides {}
#endif
