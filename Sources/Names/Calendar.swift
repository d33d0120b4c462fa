// SPDX-License-Identifier: Apache-2.0

/// The proleptic Gregorian calendar.
package enum Calendar {
    /// The number of days in a month; `month` is 1…12.
    package static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days from 1 January 1970 to a date.
    package static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        // Shift the year to start in March so that the leap day comes last; the day of the year then needs no table.
        let year = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return 365 * year + floored(year, 4) - floored(year, 100) + floored(year, 400) + dayOfYear - 719_468
    }

    /// The date that is this many days after 1 January 1970.
    package static func date(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let days = days + 719_468
        let era = floored(days, 146_097)
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func floored(_ number: Int, _ divisor: Int) -> Int {
        number >= 0 ? number / divisor : (number - divisor + 1) / divisor
    }
}
