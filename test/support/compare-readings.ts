// Holds the readings of one log against each other: the quick one, the one that parses every row, and the slow reference.

import type { DecodeOptions } from '../../src/decode/decode.ts'
import { type EventRecord, parseRecord } from '../../src/decode/records.ts'
import { RowHead } from '../../src/decode/row-head.ts'
import type { ZstdDecoder } from '../../src/decode/zstd.ts'
import { DshRefError, type LogSource, project, readSurface, type Surface } from '../../src/index.ts'
import type { MadeFrames } from './frame-maker.ts'
import { type ReferenceResult, readReference } from './reference-reader.ts'

/** What a reading says, without its words. */
export type Reading =
  | {
      readonly ok: true
      readonly nodes: readonly number[]
      readonly replacements: readonly unknown[]
      readonly capturedThroughSeq: number | null
      readonly conversation: readonly unknown[]
      readonly title: string | null
      readonly issues: readonly string[]
    }
  | { readonly ok: false; readonly reason: string; readonly rule?: string }

/** Reads `log` with the code under test; `pieces` cuts its bytes. */
export async function readWith(
  log: Uint8Array,
  options: { everyRow: boolean; pieces?: Iterable<Uint8Array> },
): Promise<Reading> {
  async function* bytes() {
    yield* options.pieces ?? [log]
  }
  return readSource({ kind: 'bytes', name: 'log', bytes: bytes(), encoding: 'raw' }, { everyRow: options.everyRow })
}

/** Reads a zstd file with the code under test. */
export function readFramesWith(path: string, options: { everyRow: boolean; decoder: ZstdDecoder }): Promise<Reading> {
  return readSource({ kind: 'file', path, encoding: 'zstd' }, options)
}

async function readSource(source: LogSource, options: DecodeOptions): Promise<Reading> {
  try {
    return readingOf(await readSurface(source, options))
  } catch (error) {
    if (!(error instanceof DshRefError) || error.code !== 'SESSION_REFERENCE_READ_FAILED') throw error
    return { ok: false, reason: error.reason ?? '' }
  }
}

/** The comparable part of a surface. */
export function readingOf(surface: Surface): Reading {
  const { nodes, replacements, capturedThroughSeq, title, issues } = surface
  const conversation = project(surface.messages).messages.map(({ role, text, checkpoint }) => ({
    role,
    text,
    checkpoint,
  }))
  const kinds = [...new Set(issues.map((issue) => issue.kind))].sort()
  return { ok: true, nodes, replacements, capturedThroughSeq, conversation, title: title ?? null, issues: kinds }
}

/** Which messages a reading looks at: those on the surface, or with `everyRow` the shadowed ones too. */
interface Thoroughness {
  readonly everyRow: boolean
}

/** Reads `log` with the slow reference. */
export function readSlowly(log: Uint8Array, { everyRow }: Thoroughness): Reading {
  return slowReadingOf(readReference(log, { checkShadowed: everyRow }))
}

/** The rule by which a file is refused before anybody looks at its rows. */
const DAMAGED_FRAME = 'damaged-frame'

/** Reads frames with the slow reference. */
export function readFramesSlowly({ frames }: MadeFrames, { everyRow }: Thoroughness): Reading {
  if (!frames) return { ok: false, reason: 'corrupt', rule: DAMAGED_FRAME }
  return slowReadingOf(
    readReference(new Uint8Array(), { checkShadowed: everyRow, encoding: 'zstd-plaintext', frames: { ...frames } }),
  )
}

function slowReadingOf(result: ReferenceResult): Reading {
  if (!result.ok) return { ok: false, reason: result.reason, rule: result.rule }
  const { nodes, replacements, capturedThroughSeq, conversation, title, issues } = result
  return {
    ok: true,
    nodes,
    replacements,
    capturedThroughSeq,
    conversation,
    title,
    issues: [...new Set(issues)].sort(),
  }
}

/**
 * Whether the log holds a row that the quick reading takes by its ends although it is no record: the one difference the
 * quick reading is allowed (row-head.ts), which `check` finds.
 */
export function hasRowOnlyCheckRefuses(log: Uint8Array): boolean {
  const version = (JSON.parse(Buffer.from(log.subarray(0, log.indexOf(10))).toString()) as { version: number }).version
  const head = new RowHead(version)
  let start = log.indexOf(10) + 1
  for (let end = log.indexOf(10, start); end !== -1; end = log.indexOf(10, start)) {
    if (head.match(log, start, end)) {
      const record = parseRecord(log, start, end, version)
      if (record.kind === 'malformed' || record.seq !== head.seq) return true
      if (record.kind === 'packed' ? record.members !== head.members : !isSameEvent(record, head)) return true
    }
    start = end + 1
  }
  return false
}

function isSameEvent(record: EventRecord, head: RowHead): boolean {
  if (record.type !== head.type || record.oddKeys.length > 0) return false
  if (head.kind !== 'surface') return record.sourceEventSeqs === undefined && record.surfaceOp === undefined
  return record.surfaceOp === 'append' && (record.sourceEventSeqs !== undefined) === (head.sourcesStart !== -1)
}

/** Rules the reference checks of the whole log before any other. */
const FOUND_FIRST = new Set(['malformed-row', 'seq-gap', DAMAGED_FRAME])

/**
 * Whether two readings say the same. A log with two defects is refused for the first one met: the reference judges all rows
 * before it folds, the reading under test folds as rows come.
 */
export function isAlike(slow: Reading, other: Reading): boolean {
  if (slow.ok || other.ok) return JSON.stringify(slow) === JSON.stringify(other)
  return slow.reason === other.reason || FOUND_FIRST.has(slow.rule ?? '')
}
