// Makes realistic logs of any size from a seed, as a stream of rows: chunks, tool calls with large results, a few
// compactions, titles. The same kind, seed and size always give the same bytes.

import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'

/** What kind of log to make. */
export interface LogKind {
  readonly name: string
  readonly version: 0 | 3 | 4
  /** v0 only: chunk rows packed as the writer does by default, or one event a row. */
  readonly packed: boolean
  /** Without compactions everything stays on the surface, large tool results included. Default: 4, or one every 25 MB. */
  readonly compactions?: number
}

/** Bytes of rows behind the last compaction, in logs large enough: about 200,000 tokens with what surrounds their text. */
const SURFACE_BYTES = 2_000_000

/** The four kinds the benchmark measures. */
export const LOG_KINDS: readonly LogKind[] = [
  { name: 'v0-loose', version: 0, packed: false },
  { name: 'v0-packed', version: 0, packed: true },
  { name: 'v3', version: 3, packed: false },
  { name: 'v4', version: 4, packed: false },
]

/** Writes a log of about `bytes` to `path`; returns the exact number of bytes. */
export function writeLog(
  path: string,
  kind: LogKind,
  bytes: number,
  seed = 1,
  id = `bench-${kind.name}`,
  cwd = '/work/bench',
): number {
  const file = openSync(path, 'w')
  let written = 0
  let pending: string[] = []
  let pendingBytes = 0
  const flush = () => {
    const buffer = Buffer.from(pending.join(''))
    writeSync(file, buffer)
    written += buffer.length
    pending = []
    pendingBytes = 0
  }
  for (const row of rowsOf(kind, bytes, seed, id, cwd)) {
    pending.push(row)
    pendingBytes += row.length
    if (pendingBytes > 1 << 20) flush()
  }
  flush()
  closeSync(file)
  return written
}

/** The rows of a log, each with its newline. */
export function* rowsOf(
  kind: LogKind,
  bytes: number,
  seed: number,
  id: string,
  cwd = '/work/bench',
): Generator<string> {
  const random = mulberry32(seed)
  const { version } = kind
  let written = 0
  let seq = 0
  let time = 1_790_000_000_000
  let surface: number[] = []
  const row = (type: string, data: unknown, extra: object = {}): string => {
    const line = `${JSON.stringify({ type, seq, time, data, ...extra })}\n`
    seq++
    time += 3 + Math.floor(random() * 40)
    written += line.length
    return line
  }
  const onSurface = (type: string, data: unknown, extra: object = {}): string => {
    surface.push(seq)
    return row(type, data, { ...extra, surfaceOp: 'append' })
  }
  const header = {
    type: 'session',
    version,
    id,
    createdAt: time,
    cwd,
    ...(version >= 2 && { isSeeded: false }),
    delegationDepth: 0,
  }
  const headerLine = `${JSON.stringify(header)}\n`
  written += headerLine.length
  yield headerLine

  const { compactions = Math.max(4, Math.round(bytes / 25e6)) } = kind
  // Spread evenly, the last one so far from the end that what follows it fills a context window.
  const everyBytes = Math.max(bytes - SURFACE_BYTES, (bytes * 4) / 5) / compactions
  let compacted = 0
  for (let turn = 1; written < bytes; turn++) {
    yield row('turn/start', { turn })
    yield onSurface('user/message', {
      id: `u${turn}`,
      role: 'user',
      content: [{ type: 'text', text: prose(random, 20 + random() * 80) }],
      source: { kind: 'user' },
    })
    if (turn === 1) {
      const tools = Array.from({ length: 20 }, (_, index) => ({
        name: `tool_${index}`,
        description: prose(random, 40),
      }))
      yield row('request/header', {
        header: { config: { provider: 'bench', model: 'bench-1' }, tools },
        reason: 'initial',
      })
      yield row('request/context', { provider: 'bench', model: 'bench-1', contextWindow: 128_000 })
    }
    const steps = 1 + Math.floor(random() * 6)
    for (let step = 1; step <= steps && written < bytes; step++) {
      yield row('step/start', { turn, step })
      if (version >= 3 && turn === 1 && step === 1) {
        const source =
          version === 3 ? { kind: 'plugin', plugin: '@deepseek-ai/dsh-system-prompt' } : { kind: 'system-prompt' }
        const content = [{ type: 'text', text: prose(random, 400) }]
        yield onSurface('system/message', { turn, step, message: { id: 'system', role: 'system', content, source } })
      }
      const text = prose(random, 60 + random() * 300)
      const words = text.match(/\S+\s*/g) ?? []
      const firstChunk = seq
      const stream: unknown[] = []
      if (version === 0 && !kind.packed) {
        for (const word of words)
          yield row('assistant/chunk', { turn, step, chunk: { type: 'text-delta', index: 0, text: word } })
      } else if (version === 0) {
        for (let at = 0; at < words.length; at += 100) {
          const texts = words.slice(at, at + 100)
          const dt = texts.slice(1).map(() => Math.floor(random() * 60))
          const line = `${JSON.stringify({ type: 'text-chunks', seq0: seq, time0: time, data: { turn, step, index: 0, dt, texts } })}\n`
          seq += texts.length
          written += line.length
          yield line
        }
      } else {
        const dt = words.slice(1).map(() => Math.floor(random() * 60))
        stream.push({ type: 'text-chunks', time0: time, index: 0, dt, texts: words })
      }
      const callId = `call_${turn}_${step}`
      const hasCall = step < steps
      const message = {
        id: `a${turn}-${step}`,
        role: 'assistant',
        content: [
          { type: 'text', text },
          ...(hasCall
            ? [{ type: 'tool-call', id: callId, name: 'read', arguments: JSON.stringify({ path: prose(random, 3) }) }]
            : []),
        ],
        source: { kind: 'model', provider: 'bench', model: 'bench-1' },
      }
      const sources = version === 0 ? { sourceEventSeqs: seqRange(firstChunk, seq) } : {}
      yield onSurface('assistant/message', { turn, step, message, ...(version >= 2 && { stream }) }, sources)
      if (hasCall) {
        const callSeq = seq
        yield row('tool/call', { turn, step, callId, name: 'read', arguments: {} })
        const result = [{ type: 'text', text: prose(random, random() < 0.1 ? 8000 : 200 + random() * 800) }]
        const toolMessage =
          version < 4
            ? {
                id: `t${turn}-${step}`,
                role: 'user',
                content: [{ type: 'tool-result', toolCallId: callId, isError: false, content: result }],
                source: { kind: 'tool', callId },
              }
            : {
                id: `t${turn}-${step}`,
                role: 'tool',
                source: { kind: 'tool', callId },
                toolCallId: callId,
                content: result,
                isError: false,
              }
        yield onSurface('tool/result', { turn, step, message: toolMessage }, { sourceEventSeqs: [callSeq] })
      }
      yield row('step/end', { turn, step })
    }
    yield row('turn/end', { turn, reason: { kind: 'completed' } })
    if (turn % 40 === 1)
      yield row('session/title', { title: prose(random, 5), messageSeqs: [], source: { kind: 'user' } })
    if (compacted < compactions && written > everyBytes * (compacted + 1) && surface.length > 20) {
      compacted++
      const compactionId = `k${turn}`
      const startSeq = seq
      yield row('compaction/start', { compactionId })
      yield row('compaction/summary', { compactionId })
      const kept = surface.slice(-10)
      // The system message stands behind the first user message, so no head is protected here.
      const shadowed = surface.slice(0, -10)
      const [start, end] = [shadowed[0] as number, shadowed.at(-1) as number]
      const source =
        version === 4
          ? { kind: 'compact-checkpoint', compactionId }
          : { kind: 'plugin', plugin: 'compact', compactionId }
      const checkpointSeq = seq
      yield row(
        'user/message',
        { id: compactionId, role: 'user', content: [{ type: 'text', text: prose(random, 600) }], source },
        {
          sourceEventSeqs: [...shadowed, startSeq, startSeq + 1].sort((a, b) => a - b),
          surfaceOp: version >= 3 ? { op: 'replace', startSeq: start, endSeq: end } : { op: 'replace', start, end },
        },
      )
      surface = [checkpointSeq, ...kept]
      yield row('compaction/end', { compactionId })
    }
  }
}

/** A log of which a known part was said by user and assistant, in turns, and the rest by tools. */
export interface Conversation {
  readonly id: string
  readonly cwd: string
  readonly seed: number
  /** Bytes of the log, and of what was said in it, about. */
  readonly bytes: number
  readonly saidBytes: number
}

/** Writes such a log of version 4 to `path`; returns what was said. */
export function writeConversation(path: string, { id, cwd, seed, bytes, saidBytes }: Conversation): string {
  const random = mulberry32(seed)
  const createdAt = 1_790_000_000_000 + seed
  const rows: unknown[] = [{ type: 'session', version: 4, id, createdAt, cwd, isSeeded: false, delegationDepth: 0 }]
  const said: string[] = []
  const add = (type: string, data: unknown) =>
    rows.push({ type, seq: rows.length - 1, time: createdAt + rows.length, data, surfaceOp: 'append' })
  const texts = 40
  for (let at = 0; at < texts; at++) {
    const text = prose(random, saidBytes / texts / 6)
    const content = [{ type: 'text', text }]
    said.push(text)
    if (at % 2 === 0) {
      add('user/message', { id: `u${at}`, role: 'user', content, source: { kind: 'user' } })
      continue
    }
    const source = { kind: 'model', provider: 'bench', model: 'bench-1' }
    add('assistant/message', {
      turn: 1,
      step: 1,
      message: { id: `a${at}`, role: 'assistant', content, source },
      stream: [],
    })
    const result = [{ type: 'text', text: prose(random, (2 * (bytes - saidBytes)) / texts / 6) }]
    const message = {
      id: `t${at}`,
      role: 'tool',
      source: { kind: 'tool', callId: `c${at}` },
      toolCallId: `c${at}`,
      content: result,
      isError: false,
    }
    add('tool/result', { turn: 1, step: 1, message })
  }
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  return `${said.join('\n')}\n`
}

function seqRange(from: number, to: number): (number | [number, number])[] {
  return to - from >= 3 ? [[from, to - 1]] : Array.from({ length: to - from }, (_, index) => from + index)
}

const WORDS =
  'the session log reader finds a row that ends with its newline and folds what the model sees; "quoted" text, paths like src/decode/rows.ts, numbers 1024, 界你好 世界, é, 🚀 and <tags> \\n appear now and then while tests run'.split(
    ' ',
  )

/** Words of text, code and several scripts. */
export function prose(random: () => number, words: number): string {
  const parts: string[] = []
  for (let index = 0; index < words; index++) {
    parts.push(WORDS[Math.floor(random() * WORDS.length)] as string)
    if (random() < 0.03) parts.push('\n')
  }
  return parts.join(' ')
}

/** A small seeded generator of numbers from 0 to 1. */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
