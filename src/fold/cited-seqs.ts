// The rules on `sourceEventSeqs`, the earlier events that an event says it was made from.

import type { SurfaceEvent } from '../types.ts'
import { isSeq } from './seq.ts'
import type { SurfaceNode } from './surface-list.ts'
import { type FoldViolation, violation } from './violation.ts'

/** Cited seqs as inclusive ranges `[start0, end0, start1, end1, …]` in cited order; never expanded. */
export interface CitedSeqs {
  readonly ranges: readonly number[]
  readonly count: number
}

/** Reads and checks `sourceEventSeqs` (FORMAT.md section 3.4 and rule 5 of section 5); `undefined` when there is none. */
export function citedSeqs(event: SurfaceEvent, version: number): CitedSeqs | FoldViolation | undefined {
  const { seq, type, sourceEventSeqs: stored } = event
  if (stored === undefined) return undefined
  const isAssistant = type === 'assistant/message'
  if (isAssistant && version >= 2 && version <= 4) {
    return violation('sources-forbidden', seq, 'An assistant/message cites sources', 'no sourceEventSeqs', stored)
  }
  if (!Array.isArray(stored)) {
    return violation('sources-shape', seq, 'sourceEventSeqs is not a list', 'a list of seqs', stored)
  }
  if (stored.length === 0) {
    if (isAssistant) return { ranges: [], count: 0 }
    return violation('sources-empty', seq, 'sourceEventSeqs is empty', 'at least one seq', stored)
  }
  if (stored.length === 1) {
    // Nearly all: one earlier seq or range, which is all right whatever else is true.
    const only: unknown = stored[0]
    const [start, end]: unknown[] = Array.isArray(only) && only.length === 2 ? only : [only, only]
    const isRange = isSeq(start, version) && isSeq(end, version) && start <= end && end < seq
    if (isRange) return { ranges: [start + 0, end + 0], count: end - start + 1 }
  }
  const ranges: number[] = []
  let count = 0
  let hasPair = false
  let isIncreasing = true
  let previousEnd = -1
  for (const entry of stored) {
    const isPair = Array.isArray(entry)
    const start: unknown = isPair ? entry[0] : entry
    const end: unknown = isPair ? entry[1] : entry
    if ((isPair && entry.length !== 2) || !isSeq(start, version) || !isSeq(end, version) || start > end) {
      return violation('sources-shape', seq, 'sourceEventSeqs holds something else than a seq', 'seqs or ranges', entry)
    }
    if (end >= seq) {
      return violation(
        'sources-not-earlier',
        seq,
        'sourceEventSeqs cites an event that is not earlier than itself',
        `seqs below ${seq}`,
        entry,
      )
    }
    if (isPair) hasPair = true
    if (start <= previousEnd) isIncreasing = false
    previousEnd = end
    ranges.push(start + 0, end + 0)
    count += end - start + 1
    // A list longer than its own seq must repeat itself; stop before a hostile list of ranges adds up.
    if (count > seq) return violation('sources-duplicate', seq, 'sourceEventSeqs repeats a seq', 'unique seqs', entry)
  }
  if (hasPair && !isIncreasing) {
    return violation('sources-shape', seq, 'sourceEventSeqs with ranges is not increasing', 'increasing seqs', stored)
  }
  if (!isIncreasing && new Set(stored).size !== stored.length) {
    return violation('sources-duplicate', seq, 'sourceEventSeqs repeats a seq', 'unique seqs', stored)
  }
  return { ranges, count }
}

/** The first shadowed seq outside the cited ranges. */
export function firstUncited(shadowed: readonly SurfaceNode[], cited: CitedSeqs | undefined): number | undefined {
  if (!cited) return shadowed[0]?.event.seq
  const starts = sortedRanges(cited.ranges)
  return shadowed.map((node) => node.event.seq).find((seq) => !isCited(starts, seq))
}

function sortedRanges(ranges: readonly number[]): readonly number[] {
  let isSorted = true
  for (let index = 2; index < ranges.length; index += 2) {
    if ((ranges[index] as number) < (ranges[index - 2] as number)) isSorted = false
  }
  if (isSorted) return ranges
  const pairs: [number, number][] = []
  for (let index = 0; index < ranges.length; index += 2) {
    pairs.push([ranges[index] as number, ranges[index + 1] as number])
  }
  return pairs.sort((a, b) => a[0] - b[0]).flat()
}

function isCited(ranges: readonly number[], seq: number): boolean {
  let low = 0
  let high = ranges.length / 2 - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    if (seq < (ranges[2 * middle] as number)) high = middle - 1
    else if (seq > (ranges[2 * middle + 1] as number)) low = middle + 1
    else return true
  }
  return false
}
