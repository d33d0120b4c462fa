// SPDX-License-Identifier: Apache-2.0

/// Cookies that come, change and go.
extension CookieBucket {
    /// Inserts a cookie at its place in the order. `record`'s texts are filled in here.
    ///
    /// - Returns: That place.
    mutating func insert(
        _ record: CookieRecord,
        _ birth: CookieBirth,
        name: Octets,
        value: Octets,
        path: Octets,
        in arena: BlockArena
    ) -> Int {
        var record = record
        record.nameLength = UInt16(name.count)
        record.valueLength = value.count
        record.pathLength = UInt16(path.count)
        record.pathHash = PathPrefixes.hash(path)
        reserve(records: 1, text: record.textLength, in: arena)
        let place = self.place(of: record, birth)
        record.text = append(path: path, name: name, value: value)
        (records + place + 1).update(from: records + place, count: count - place)
        (births + place + 1).update(from: births + place, count: count - place)
        (tags + place + 1).update(from: tags + place, count: count - place)
        records[place] = record
        births[place] = birth
        tags[place] = Self.tag(name)
        header.pointee.count += 1
        return place
    }

    /// Gives the cookie at `index` another value; name, path and place stay.
    mutating func replaceValue(at index: Int, with value: Octets, in arena: BlockArena) {
        if value.count > records[index].valueLength {
            let textLength = records[index].textLength - records[index].valueLength + value.count
            reserve(records: 0, text: textLength, in: arena)
            // Reserving may have moved it.
            let record = records[index]
            records[index].text = append(path: path(record), name: name(record), value: value)
        } else {
            Self.copy(value, to: text(records[index].value))
        }
        records[index].valueLength = value.count
    }

    /// Takes the cookie at `index` out.
    mutating func remove(at index: Int) {
        (records + index).update(from: records + index + 1, count: count - index - 1)
        (births + index).update(from: births + index + 1, count: count - index - 1)
        (tags + index).update(from: tags + index + 1, count: count - index - 1)
        header.pointee.count -= 1
    }

    /// Where a record goes: behind all that precede it.
    private func place(of record: CookieRecord, _ birth: CookieBirth) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            let other = records[middle].pathLength
            let isBefore = record.pathLength == other ? birth.precedes(births[middle]) : record.pathLength > other
            if isBefore { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Writes the texts of a cookie behind the others.
    ///
    /// - Returns: The offset of `name=value`.
    private func append(path: Octets, name: Octets, value: Octets) -> UInt32 {
        append(path)
        let start = textStart + Int(header.pointee.textCount)
        append(name)
        if !name.isEmpty {
            text(textStart + Int(header.pointee.textCount)).pointee = .equals
            header.pointee.textCount += 1
        }
        append(value)
        return UInt32(start)
    }

    private func append(_ octets: Octets) {
        Self.copy(octets, to: text(textStart + Int(header.pointee.textCount)))
        header.pointee.textCount += UInt32(octets.count)
    }

    /// Makes room. A block that is full moves to a larger one, and leaves its garbage behind.
    private mutating func reserve(records more: Int, text: Int, in arena: BlockArena) {
        let old = header.pointee
        if count + more <= Int(old.capacity), Int(old.textCount) + text <= Int(old.textCapacity) { return }
        let needed = count + more
        let texts = (0..<count).reduce(text) { $0 + records[$1].textLength }
        rebuild(
            capacity: needed <= Int(old.capacity) ? Int(old.capacity) : max(needed + needed / 4, 2),
            // A multiple of eight, for the births behind the texts.
            textCapacity: (texts + texts / 4 + 7) & ~7,
            in: arena
        )
    }

    /// Moves to a block of these capacities, with the texts in the order of the records.
    private mutating func rebuild(capacity: Int, textCapacity: Int, in arena: BlockArena) {
        let old = self
        self = CookieBucket(Self.block(key: keyCount, capacity: capacity, textCapacity: textCapacity, in: arena))
        header.initialize(to: old.header.pointee)
        header.pointee.capacity = UInt32(capacity)
        header.pointee.textCapacity = UInt32(textCapacity)
        header.pointee.textCount = 0
        Self.copy(Octets(start: old.key, count: keyCount), to: key)
        records.update(from: old.records, count: count)
        births.update(from: old.births, count: count)
        tags.update(from: old.tags, count: count)
        for index in 0..<count {
            let record = old.records[index]
            records[index].text = append(path: old.path(record), name: old.name(record), value: old.value(record))
        }
        old.release(to: arena)
    }

    static func copy(_ octets: Octets, to start: UnsafeMutablePointer<UInt8>) {
        if let from = octets.baseAddress { start.update(from: from, count: octets.count) }
    }
}
