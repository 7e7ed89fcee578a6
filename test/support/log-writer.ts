// A program that writes to a log while others read it. Arguments: the way it writes, and the path. It says "ready" when the log
// is there, and ends when its standard input does.
//
// Rows are messages whose text is `<generation>:<seq>`; a rewritten log is the next generation.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fsyncSync, ftruncateSync, openSync, renameSync, writeSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rawBlocks, writeFrame } from './zstd-writer.ts'

/** `append`, raw or zstd: rows and halves of rows. `truncate`, `overwrite`, `rename`: the whole log anew. */
export type Way = 'append' | 'append-zstd' | 'truncate' | 'truncate-zstd' | 'overwrite' | 'rename'

/** A writer at work. */
export interface Writer {
  stop(): Promise<void>
}

const NODE_FLAGS = process.allowedNodeEnvironmentFlags.has('--experimental-strip-types')
  ? ['--experimental-strip-types', '--no-warnings']
  : []

/** Starts writing to `path` under a Node that runs TypeScript; resolves when the log is there. */
export async function startWriter(node: string, way: Way, path: string): Promise<Writer> {
  const child = spawn(node, [...NODE_FLAGS, fileURLToPath(import.meta.url), way, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return {
    async stop() {
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}

const HEADER = `${JSON.stringify({
  ...{ type: 'session', version: 4, id: 'busy', createdAt: 1000, cwd: '/w', isSeeded: false, delegationDepth: 0 },
})}\n`

function rowOf(generation: number, seq: number, padding: string): string {
  const content = [{ type: 'text', text: `${generation}:${seq}` }]
  const source = { kind: 'user', padding }
  const data = { id: `m${seq}`, role: 'user', content, source }
  return `${JSON.stringify({ type: 'user/message', seq, time: 1, data, surfaceOp: 'append' })}\n`
}

const pause = (milliseconds: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
const frame = (text: string) => writeFrame(rawBlocks(text))

function append(path: string, isZstd: boolean): () => void {
  const file = openSync(path, 'a')
  writeSync(file, isZstd ? frame(HEADER) : Buffer.from(HEADER))
  let seq = 0
  return () => {
    const rows = Array.from({ length: 1 + (seq % 3) }, () => rowOf(0, seq++, 'x'.repeat((seq * 37) % 3000))).join('')
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

function contentOf(generation: number, isZstd: boolean, rows: number): Buffer {
  // Every third generation is larger than a reader takes in one piece.
  const padding = String.fromCharCode(97 + (generation % 26)).repeat(generation % 3 === 0 ? 6000 : 50)
  const lines = Array.from({ length: rows }, (_, seq) => rowOf(generation, seq, padding))
  return isZstd ? Buffer.concat([frame(HEADER), frame(lines.join(''))]) : Buffer.from(HEADER + lines.join(''))
}

function rewrite(path: string, way: Way): () => void {
  let generation = 0
  const file = openSync(path, 'w+')
  return () => {
    generation++
    // Overwritten in its place, every generation is as long as the one before.
    const isSameLength = way === 'overwrite'
    const numbered = isSameLength ? 1_000_000 + generation * 3 : generation
    const content = contentOf(numbered, way === 'truncate-zstd', isSameLength ? 300 : 20 + ((generation * 61) % 250))
    if (way === 'rename') {
      const aside = openSync(`${path}.tmp`, 'w')
      writeSync(aside, content)
      fsyncSync(aside)
      closeSync(aside)
      renameSync(`${path}.tmp`, path)
      return
    }
    if (way !== 'overwrite') ftruncateSync(file, 0)
    for (let at = 0; at < content.length; at += 300_000)
      writeSync(file, content.subarray(at, at + 300_000), 0, undefined, at)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [way, path] = process.argv.slice(2) as [Way, string]
  const step = way.startsWith('append') ? append(path, way === 'append-zstd') : rewrite(path, way)
  step()
  process.stdout.write('ready')
  const timer = setInterval(step, way.startsWith('append') ? 2 : 5)
  process.stdin.on('end', () => clearInterval(timer)).resume()
}
