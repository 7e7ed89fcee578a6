// How entries stand in the list of the title index: a flat JSON list. Five thousand entries as JSON objects would take longer
// to parse than the logs take to look at.

import type { IndexEntry } from './index-entry.ts'

/** An entry, and when it was last of use. */
export interface Kept {
  readonly entry: IndexEntry
  /** Day on which the entry was last asked for. */
  seen: number
}

/** Where the values of an entry stand in its part of the flat list, in the order in which they are written. */
export const FIELD = {
  project: 0,
  segment: 1,
  seen: 2,
  directoryKey: 3,
  name: 4,
  logKey: 5,
  refusal: 6,
  id: 7,
  createdAt: 8,
  cwd: 9,
  origin: 10,
  parentSession: 11,
  flags: 12,
  health: 13,
  title: 14,
  updatedAt: 15,
  firstMessage: 16,
  detailLength: 17,
  detailChecksum: 18,
}

/** Values of one entry. */
export const FIELDS = Object.keys(FIELD).length

/** Stands for the value of the entry before, and as an id for the name of its directory. */
export const SAME = 0

/** A value of the list; `null` for what is absent. */
export type Value = string | number | null

/** Bits of the value `flags`. */
export const IS_SUBAGENT = 1
export const IS_MISPLACED = 2
export const HAS_ISSUES = 4
