// The states of logs and directories as keys: what was learned of one is good for as long as it is in the same state.

import type { BigIntStats } from 'node:fs'

/**
 * The state of a log: device, inode, size, time of change, and that of the inode, in nanoseconds. Who copies one log over
 * another may set the former time back, never the latter.
 */
export function logKeyOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  // Joined, not a template, which would keep its parts beside it as long as it lives.
  return [dev, ino, size, mtimeNs, ctimeNs].join(':')
}

/** Whether a log in one state may be the same log with rows added to it. */
export function hasGrown(before: string, after: string): boolean {
  const [dev, ino, size] = before.split(':')
  const [devNow, inoNow, sizeNow] = after.split(':')
  return dev === devNow && ino === inoNow && Number(size) < Number(sizeNow)
}

/** The state of a directory: what is in it has not changed while this has not. */
export function directoryKeyOf({ ino, mtimeNs }: BigIntStats): string {
  return [ino, mtimeNs].join(':')
}

/**
 * A directory changed less than this before it was listed may change again within the same tick of the file system's
 * clock, and its time would not tell. The coarsest clock in use ticks every 2 s (FAT).
 */
const SETTLED_MILLISECONDS = 3000

/** Whether a directory of that time, listed now, can be trusted to show every later change by another time. */
export function isSettled({ mtimeMs }: Pick<BigIntStats, 'mtimeMs'>, now = Date.now()): boolean {
  return Number(mtimeMs) < now - SETTLED_MILLISECONDS
}
