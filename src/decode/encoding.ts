// How a log is stored, told by its first bytes where its name does not say it: zstd frames begin with their magic number, rows
// with a brace.

import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { FRAME_MAGIC } from './frames.ts'
import { READ_ONLY } from './header-peek.ts'
import type { LogEncoding } from './log.ts'

const BRACE = 0x7b

/** What a log with these first bytes is; `undefined` when they begin neither a frame nor a row. */
export function encodingOf(head: Uint8Array): LogEncoding | undefined {
  if (FRAME_MAGIC.every((byte, index) => head[index] === byte)) return 'zstd'
  return head[0] === BRACE ? 'raw' : undefined
}

/** The same of a file; `undefined` also for what is no regular file, or cannot be read. */
export function encodingOfFile(path: string): LogEncoding | undefined {
  let descriptor: number | undefined
  try {
    if (!statSync(path).isFile()) return undefined
    descriptor = openSync(path, READ_ONLY)
    const head = Buffer.alloc(FRAME_MAGIC.length)
    return encodingOf(head.subarray(0, readSync(descriptor, head, 0, head.length, 0)))
  } catch {
    return undefined // whoever reads the log says why it cannot be read
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** Looks at the first bytes of a stream, and gives all of them on. */
export async function encodingOfStream(
  pieces: AsyncIterable<Uint8Array>,
): Promise<{ encoding: LogEncoding; bytes: AsyncIterable<Uint8Array> }> {
  const rest = pieces[Symbol.asyncIterator]()
  let head: Uint8Array = new Uint8Array()
  while (head.length < FRAME_MAGIC.length) {
    const { done, value } = await rest.next()
    if (done) break
    head = Buffer.concat([head, value])
  }
  return { encoding: encodingOf(head) ?? 'raw', bytes: chained(head, rest) }
}

async function* chained(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (head.length > 0) yield head
    for (;;) {
      const { done, value } = await rest.next()
      if (done) return
      yield value
    }
  } finally {
    await rest.return?.()
  }
}
