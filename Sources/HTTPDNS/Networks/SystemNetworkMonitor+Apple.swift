// SPDX-License-Identifier: Apache-2.0

#if canImport(Network)
import Dispatch
import Network

extension SystemNetworkMonitor {
    /// Yields on updates of the system's path monitor.
    package func changes() -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let monitor = NWPathMonitor()
            monitor.pathUpdateHandler = { _ in continuation.yield() }
            continuation.onTermination = { _ in monitor.cancel() }
            monitor.start(queue: DispatchQueue(label: "beeline.network"))
        }
    }
}
#endif
