// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Testing

/// Dates by RFC 6265bis §5.1.1.
struct CookieDateTests {
    @Test(arguments: [
        ("IMF-fixdate, as a server should write it", "Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("the form of RFC 850, two digits of the year above 69", "Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("the form of asctime", "Sun Nov  6 08:49:37 1994", 784_111_777),
        ("two digits up to 69 are of this century", "1 Jan 69 00:00:00", 3_124_224_000),
        ("two digits from 70 are of the last", "1 Jan 70 00:00:00", 0),
        ("any order of the parts", "1994 08:49:37 nov 6", 784_111_777),
        ("a month by its first three letters, whatever follows", "6 novembre 1994 08:49:37", 784_111_777),
        ("one digit of day, hour, minute and second", "6 Nov 1994 8:9:7", 784_109_347),
        ("what follows the digits is passed over", "6th Nov 1994x 08:49:37.123", 784_111_777),
        ("a zone is not read", "Sun, 06 Nov 1994 08:49:37 +0900", 784_111_777),
        ("a leap day", "29 Feb 2024 00:00:00", 1_709_164_800),
        ("the first year", "1 Jan 1601 00:00:00", -11_644_473_600),
        ("the last year", "31 Dec 9999 23:59:59", 253_402_300_799),
        ("the first of two times counts", "6 Nov 1994 08:49:37 11:11:11", 784_111_777),
    ])
    func reads(_ sentence: String, _ text: String, _ seconds: Int) {
        #expect(CookieTime(cookieDate: text)?.secondsSince1970 == Double(seconds), "\(sentence)")
    }

    @Test(arguments: [
        ("nothing", ""),
        ("no time", "6 Nov 1994"),
        ("no seconds", "6 Nov 1994 08:49"),
        ("no month", "6 1994 08:49:37"),
        ("no year", "6 Nov 08:49:37"),
        ("three digits in a time", "6 Nov 1994 008:49:37"),
        ("five digits of a year", "6 Nov 11994 08:49:37"),
        ("a year before the calendar", "6 Nov 1600 08:49:37"),
        ("day 0", "0 Nov 1994 08:49:37"),
        ("30 February", "30 Feb 1994 08:49:37"),
        ("29 February of no leap year", "29 Feb 2100 08:49:37"),
        ("31 November", "31 Nov 1994 08:49:37"),
        ("hour 24", "6 Nov 1994 24:00:00"),
        ("a leap second", "6 Nov 1994 23:59:60"),
        ("a colon too many", "6 Nov 1994 08::37"),
    ])
    func refuses(_ sentence: String, _ text: String) {
        #expect(CookieTime(cookieDate: text) == nil, "\(sentence)")
    }

    @Test func writesWhatItReads() throws {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let seconds = Int64.random(in: -11_644_473_600...253_402_300_799, using: &generator)
            let time = CookieTime(microseconds: seconds * 1_000_000)
            #expect(CookieTime(cookieDate: time.httpDate) == time, "\(time.httpDate)")
        }
    }
}
