// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The installed programs of a browser.
struct BrowserPrograms: Hashable {
    let kind: BrowserKind
    let browser: String
    /// The driver program; nil if the browser needs none.
    let driver: String?

    /// Finds a browser.
    ///
    /// - Parameters:
    ///   - kind: the kind of browser; nil uses the first installed one.
    ///   - path: the folders to search, in the format of `PATH`.
    /// - Throws: ``WebDriverError`` with code `notInstalled`, which names the Debian packages.
    static func find(_ kind: BrowserKind?, path: String) throws(WebDriverError) -> BrowserPrograms {
        let folders = path.split(separator: ":").map(String.init)
        guard let kind else {
            for kind in BrowserKind.allCases {
                if let found = try? find(kind, in: folders) { return found }
            }
            let names = BrowserKind.allCases.map { $0.packages.joined(separator: " ") }.joined(separator: ", or ")
            throw WebDriverError(.notInstalled, "no supported browser is installed; apt-get install \(names)")
        }
        return try find(kind, in: folders)
    }

    private static func find(_ kind: BrowserKind, in folders: [String]) throws(WebDriverError) -> BrowserPrograms {
        let browser = browsers(kind, folders).first(where: isProgram)
        let driver = drivers(kind).flatMap { names in candidates(names, folders).first(where: isProgram) }
        guard let browser, driver != nil || drivers(kind) == nil else {
            let missing = browser == nil ? kind.title : "the driver of \(kind.title)"
            throw WebDriverError(
                .notInstalled,
                "\(missing) is not installed; apt-get install \(kind.packages.joined(separator: " "))"
            )
        }
        return BrowserPrograms(kind: kind, browser: browser, driver: driver)
    }

    private static func browsers(_ kind: BrowserKind, _ folders: [String]) -> [String] {
        switch kind {
        case .chromium:
            candidates(["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"], folders)
        case .firefox: candidates(["firefox-esr", "firefox"], folders)
        case .webKit:
            // MiniBrowser is not in `PATH`. It is installed beside its library; on Debian in the folder of the architecture.
            (subfolders("/usr/lib") + ["/usr/libexec", "/usr/lib"]).flatMap { folder in
                ["webkit2gtk-4.1", "webkit2gtk-4.0", "webkitgtk-6.0"].map { "\(folder)/\($0)/MiniBrowser" }
            }
        }
    }

    private static func drivers(_ kind: BrowserKind) -> [String]? {
        switch kind {
        case .chromium: ["chromedriver"]
        case .firefox: nil
        case .webKit: ["WebKitWebDriver"]
        }
    }

    private static func candidates(_ names: [String], _ folders: [String]) -> [String] {
        names.flatMap { name in folders.map { "\($0)/\(name)" } }
    }

    private static func subfolders(_ folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.contains("-linux-") }.sorted().map { "\(folder)/\($0)" }
    }

    private static func isProgram(_ path: String) -> Bool { FileManager.default.isExecutableFile(atPath: path) }
}
