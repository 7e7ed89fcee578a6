// A program that writes to a log while others read it. Arguments: the way it writes, and the path. It says "ready" when the log
// is there, and ends when its standard input does.
//
// Rows are messages whose text is `<generation>:<seq>`; a rewritten log is the next generation.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fsyncSync, ftruncateSync, openSync, renameSync, writeSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rawBlocks, writeFrame } from './zstd-writer.ts'

/** `append`, raw or zstd: rows and halves of rows. `truncate` and `rename`: the whole log anew. */
export type Way = 'append' | 'append-zstd' | 'truncate' | 'truncate-zstd' | 'rename'

/** A writer at work. */
export interface Writer {
  stop(): Promise<void>
}

/** Starts writing to `path` under a Node that runs TypeScript; resolves when the log is there. */
export async function startWriter(node: string, way: Way, path: string): Promise<Writer> {
  const child = spawn(node, [fileURLToPath(import.meta.url), way, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return {
    async stop() {
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}

const HEADER = `{"type":"session","version":4,"id":"busy","createdAt":1000,"cwd":"/w","isSeeded":false,"delegationDepth":0}\n`

function rowOf(generation: number, seq: number, padding: string): string {
  const content = [{ type: 'text', text: `${generation}:${seq}` }]
  const source = { kind: 'user', padding }
  const data = { id: `m${seq}`, role: 'user', content, source }
  return `${JSON.stringify({ type: 'user/message', seq, time: 1, data, surfaceOp: 'append' })}\n`
}

/** A log that grows for ever takes ever longer to read, and on a slow machine never to the end of a test. */
const MAX_APPENDS = 400

const pause = (milliseconds: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
const frame = (text: string) => writeFrame(rawBlocks(text))

function append(path: string, isZstd: boolean): () => void {
  const file = openSync(path, 'a')
  writeSync(file, isZstd ? frame(HEADER) : Buffer.from(HEADER))
  let [seq, steps] = [0, 0]
  return () => {
    if (steps++ > MAX_APPENDS) return
    const rows = Array.from({ length: 1 + (seq % 3) }, () => rowOf(0, seq++, 'x'.repeat((seq * 37) % 200))).join('')
    const bytes = isZstd ? frame(rows) : Buffer.from(rows)
    // Now and then in two halves: what is read in between has a torn end.
    const cut = seq % 5 === 0 ? bytes.length >> 1 : bytes.length
    writeSync(file, bytes, 0, cut)
    if (cut < bytes.length) {
      pause(2)
      writeSync(file, bytes, cut)
    }
  }
}

function rowsOf(generation: number, rows: number): string {
  // Now and then a generation is larger than a reader takes in one piece.
  const padding = String.fromCharCode(97 + (generation % 26)).repeat(generation % 12 === 0 ? 6000 : 50)
  return Array.from({ length: rows }, (_, seq) => rowOf(generation, seq, padding)).join('')
}

function rewrite(path: string, way: Way): () => void {
  const isZstd = way === 'truncate-zstd'
  const head = isZstd ? frame(HEADER) : Buffer.from(HEADER)
  let generation = 0
  const file = openSync(path, 'w+')
  writeSync(file, head)
  return () => {
    generation++
    const rows = rowsOf(generation, 20 + ((generation * 61) % 250))
    const body = isZstd ? frame(rows) : Buffer.from(rows)
    if (way === 'rename') {
      const aside = openSync(`${path}.tmp`, 'w')
      writeSync(aside, Buffer.concat([head, body]))
      fsyncSync(aside)
      closeSync(aside)
      renameSync(`${path}.tmp`, path)
      return
    }
    // The header stays. A writer that is kept waiting between emptying a log and filling it leaves an empty file, and who
    // finds one cannot know better.
    ftruncateSync(file, head.length)
    for (let at = 0; at < body.length; at += 300_000)
      writeSync(file, body.subarray(at, at + 300_000), 0, undefined, head.length + at)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [way, path] = process.argv.slice(2) as [Way, string]
  const step = way.startsWith('append') ? append(path, way === 'append-zstd') : rewrite(path, way)
  step()
  process.stdout.write('ready')
  const timer = setInterval(step, 5)
  process.stdin.on('end', () => clearInterval(timer)).resume()
}
