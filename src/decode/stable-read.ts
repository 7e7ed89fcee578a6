// Reads a file that may be written to meanwhile: what a change means for what was read (stability.ts tells which it was), and
// when it is read once more.

import { type BigIntStats, closeSync, fstatSync, openSync, type Stats, statSync } from 'node:fs'
import { DshRefError, readFailed } from '../errors.ts'
import { READ_ONLY } from './header-peek.ts'
import { type Change, FileWatch } from './stability.ts'

/** One read of a file, and what happened to the file meanwhile. */
export type Attempt<T> =
  | { readonly value: T; readonly change: Change }
  | { readonly error: unknown; readonly watch: FileWatch; readonly change: Change; readonly sinceEarlier: Change }

export function failure(error: unknown, watch: FileWatch, earlier: FileWatch | undefined): Attempt<never> {
  return { error, watch, change: watch.change(), sinceEarlier: earlier ? watch.changeSince(earlier) : 'none' }
}

/** Time before a log that changed under the reader is read again, in milliseconds: whoever rewrites it may be done then. */
const RETRY_AFTER_MILLISECONDS = 30

/**
 * Reads a file that may be written to meanwhile. What was added behind the bytes read does no harm. After any other change
 * the file is read once more; if it changes again, the refusal says so. A log is called damaged only when it stayed the
 * same, or grew, and twice gave the same reason.
 */
export async function stable<T>(
  path: string,
  signal: AbortSignal | undefined,
  attempt: (earlier?: FileWatch) => Promise<Attempt<T>>,
): Promise<T> {
  const first = await attempt()
  if ('value' in first) {
    if (isHarmless(first.change)) return first.value
  } else if (!isAboutContent(first.error) || (first.change === 'none' && first.watch.isSettled)) throw first.error
  // Loaded when it is needed, which is seldom.
  const { setTimeout } = await import('node:timers/promises')
  await setTimeout(RETRY_AFTER_MILLISECONDS, undefined, { ...(signal && { signal }) })

  const second = await attempt('watch' in first ? first.watch : undefined)
  if ('value' in second) {
    if (second.change !== 'rewritten') return second.value
    throw changed(path)
  }
  const { error, watch, change, sinceEarlier } = second
  if (!isAboutContent(error)) throw error
  const isSame = 'error' in first && (first.error as Error).message === (error as Error).message
  const isFirm = isSame ? isHarmless(change) && isHarmless(sinceEarlier) : change === 'none' && watch.isSettled
  throw isFirm ? error : changed(path, error)
}

function isHarmless(change: Change): boolean {
  return change === 'none' || change === 'grown'
}

/** Whether a refusal may come from bytes that were written while they were read. */
function isAboutContent(error: unknown): boolean {
  if (!(error instanceof DshRefError)) return false
  const { reason, facts } = error
  return reason === 'corrupt' || reason === 'unsupported' || facts.rule === CHANGED
}

/** Rule of a refusal that says nothing of the log but that it would not keep still. */
const CHANGED = 'changed-while-reading'

export function changed(path: string, cause?: unknown): DshRefError {
  return readFailed(
    'unreadable',
    `${path} changed while it was read, and not only by growing; try again`,
    { file: path, rule: CHANGED },
    { cause },
  )
}

function checkRegular(path: string, state: Stats | BigIntStats): void {
  if (state.isFile()) return
  throw readFailed(
    'unreadable',
    `${path} is ${state.isDirectory() ? 'a directory' : 'no regular file'}, not a session log`,
    { file: path },
  )
}

/** A log that is open for reading. */
export interface OpenLog {
  readonly descriptor: number
  readonly watch: FileWatch
  [Symbol.dispose](): void
}

export function openLog(path: string): OpenLog {
  // Looked at before it is opened: opening a FIFO lets the writer at its other end go on, opening a tape winds it back.
  checkRegular(path, statSync(path))
  const descriptor = openSync(path, READ_ONLY)
  try {
    const state = fstatSync(descriptor, { bigint: true })
    checkRegular(path, state)
    return { descriptor, watch: new FileWatch(descriptor, state), [Symbol.dispose]: () => closeSync(descriptor) }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}
