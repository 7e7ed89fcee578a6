// The slow second reading of FORMAT.md that the fast reader is compared with: every row is parsed, every list is an array,
// every rule is written where the specification states it. It shares only type declarations with the code under test.

import { isDeepStrictEqual } from 'node:util'
import type { IssueKind, ReadingMode, SessionHeader } from '../../src/types.ts'

export interface ReferenceOptions {
  readonly mode?: ReadingMode
  /** `zstd-plaintext` reads `frames` and ignores the bytes given as log. */
  readonly encoding?: 'raw' | 'zstd-plaintext'
  readonly frames?: {
    /** Plaintext of every complete frame, in file order. */
    readonly complete: readonly Uint8Array[]
    /** What could be recovered of a torn last frame; present (perhaps empty) exactly when there is one. */
    readonly torn?: Uint8Array
  }
  /** Reads versions above 4 by the shape of their rows instead of refusing them. */
  readonly allowUnknownVersion?: boolean
  /** `false` leaves the messages of events that a replacement shadowed unread, as a lazy reader does. */
  readonly checkShadowed?: boolean
}

export interface ReferenceReplacement {
  readonly seq: number
  readonly start: number
  readonly end: number
  readonly shadowedSeqs: readonly number[]
}

export interface ReferenceMessage {
  readonly role: 'user' | 'assistant'
  /** As stored: lone surrogates are still in it. */
  readonly text: string
  readonly checkpoint: boolean
}

export interface ReferenceReading {
  readonly ok: true
  readonly header: SessionHeader
  readonly formatVersion: number
  readonly capturedThroughSeq: number | null
  readonly nodes: readonly number[]
  readonly replacements: readonly ReferenceReplacement[]
  readonly conversation: readonly ReferenceMessage[]
  readonly title: string | null
  /** Number of accepted events, members of packed rows counted one by one. */
  readonly events: number
  /** One kind for each occurrence, in reading order. */
  readonly issues: readonly IssueKind[]
  readonly tornTail: boolean
}

export interface ReferenceRefusal {
  readonly ok: false
  readonly reason: 'corrupt' | 'unsupported'
  readonly rule: string
  readonly seq?: number
}

export type ReferenceResult = ReferenceReading | ReferenceRefusal

/**
 * Log-only event types this build knows. Source: every type FORMAT.md names (sections 3.2, 3.5, 3.6, 4.1, 5, 6 and 7.4)
 * and every type in the conformance logs of versions 0 to 4. The types that may stand on a surface are in `surfaceTypes`.
 */
export const KNOWN_LOG_ONLY_TYPES: readonly string[] = [
  'agent/inbox/spliced',
  'approval/asked',
  'approval/decided',
  'approval/policy',
  'assistant/attempt',
  'assistant/chunk',
  'command/done',
  'command/run',
  'compact/end',
  'compact/prune',
  'compact/start',
  'compact/summary',
  'compaction/end',
  'compaction/prune',
  'compaction/start',
  'compaction/summary',
  'deliverables/presented',
  'feedback/message-delete',
  'feedback/message-put',
  'goal/change',
  'hook/invoked',
  'hook/result',
  'image/offload',
  'llm/retry',
  'llm/retry-started',
  'model/selection',
  'permission/preset',
  'request/context',
  'request/header',
  'sandbox/mode',
  'session-log-deepseek/delivery-accepted',
  'session/end-seed',
  'session/title',
  'session/title-llm-request',
  'step/end',
  'step/start',
  'subagent/catalog',
  'subagent/descriptor',
  'subagent/model-selection-policy',
  'todo/write',
  'tool-workflow/agent-end',
  'tool-workflow/agent-start',
  'tool-workflow/run-end',
  'tool-workflow/run-start',
  'tool/call',
  'tool/code-dispatch',
  'tool/code-dispatch-start',
  'tool/ptc-dispatch',
  'tool/ptc-dispatch-start',
  'turn/end',
  'turn/start',
  'working-directory/change',
  'workspace/changes',
]

const NEWEST_VERSION = 4
const NEWLINE = 0x0a

type JsonObject = Record<string, unknown>

/** One logical event; the members of a packed row become events without surface metadata. */
interface Event {
  readonly type: string
  readonly seq: number
  readonly data: unknown
  readonly ignorable: boolean
  /** Set when the key is present, whatever its value. */
  readonly surfaceOp?: { readonly value: unknown }
  readonly sourceEventSeqs?: { readonly value: unknown }
}

interface Row {
  readonly events: readonly Event[]
  readonly issues: readonly IssueKind[]
}

interface Message {
  readonly id: string | undefined
  readonly content: readonly JsonObject[]
  readonly source: JsonObject
}

/** Leaves the reading; `readReference` turns it into a result. */
class Refused extends Error {
  readonly reason: 'corrupt' | 'unsupported'
  readonly rule: string
  readonly seq: number | undefined

  constructor(reason: 'corrupt' | 'unsupported', rule: string, seq?: number) {
    super(rule)
    this.reason = reason
    this.rule = rule
    this.seq = seq
  }
}

/** Reads a whole log as FORMAT.md and DESIGN.md ("How strict") say. */
export function readReference(log: Uint8Array, options: ReferenceOptions = {}): ReferenceResult {
  try {
    return read(log, options)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const { reason, rule, seq } = error
    return seq === undefined ? { ok: false, reason, rule } : { ok: false, reason, rule, seq }
  }
}

function read(log: Uint8Array, options: ReferenceOptions): ReferenceReading {
  const issues: IssueKind[] = []
  const stored = options.encoding === 'zstd-plaintext' ? rowsOfFrames(options) : rowsOfFile(log)
  const [headerRow, ...rows] = stored.rows
  if (headerRow === undefined) throw new Refused('corrupt', 'header')

  const header = readHeader(decodeText(headerRow, issues), options.allowUnknownVersion === true, issues)
  const mustAcceptRows = stored.committedRows === undefined ? 0 : stored.committedRows - 1
  let events = acceptRows(rows, header.version, mustAcceptRows, issues)
  if (stored.tornTail) issues.push('torn-tail')
  if (header.version === 0) events = normaliseLegacy(events, header.id)

  const surface = fold(events, header.version, options.checkShadowed !== false, issues)
  checkSeedMarker(header, events, issues)

  return {
    ok: true,
    header,
    formatVersion: header.version,
    capturedThroughSeq: events.length === 0 ? null : events.length - 1,
    nodes: surface.nodes,
    replacements: surface.replacements,
    conversation: project(surface.nodes, events, header.version, issues, options.checkShadowed !== false),
    title: foldTitle(events),
    events: events.length,
    issues,
    tornTail: stored.tornTail,
  }
}

// Section 7: which bytes are rows.

interface StoredRows {
  readonly rows: readonly Uint8Array[]
  readonly tornTail: boolean
  /** Rows (the header included) of which none may be dropped; unset when rows may be dropped anywhere. */
  readonly committedRows?: number
}

function rowsOfFile(log: Uint8Array): StoredRows {
  const { rows, rest } = splitRows(log)
  return { rows, tornTail: rest.length > 0 }
}

function rowsOfFrames(options: ReferenceOptions): StoredRows {
  if (options.frames === undefined) throw new Error('The encoding zstd-plaintext needs frames')
  const { complete, torn } = options.frames
  const [first] = complete
  if (first === undefined) throw new Refused('corrupt', 'header')
  if (first.length === 0 || first.indexOf(NEWLINE) !== first.length - 1) throw new Refused('corrupt', 'header-frame')

  const committed = splitRows(Buffer.concat(complete))
  if (committed.rest.length > 0) throw new Refused('corrupt', 'partial-row-in-frame')
  const recovered = torn === undefined ? [] : splitRows(torn).rows
  const rows = [...committed.rows, ...recovered]
  const tornTail = torn !== undefined
  return options.mode === 'historical' ? { rows, tornTail } : { rows, tornTail, committedRows: committed.rows.length }
}

/** Splits at byte 0x0A only; `rest` is what follows the last one. */
function splitRows(bytes: Uint8Array): { rows: Uint8Array[]; rest: Uint8Array } {
  const rows: Uint8Array[] = []
  let start = 0
  for (;;) {
    const end = bytes.indexOf(NEWLINE, start)
    if (end === -1) return { rows, rest: bytes.subarray(start) }
    rows.push(bytes.subarray(start, end))
    start = end + 1
  }
}

/** Bytes that are no UTF-8 become U+FFFD, as in the service; a byte order mark stays and makes the row no JSON. */
function decodeText(row: Uint8Array, issues: IssueKind[]): string {
  const text = Buffer.from(row).toString('utf8')
  if (!Buffer.from(text, 'utf8').equals(row)) issues.push('invalid-utf8')
  return text
}

// Section 2: the header.

const HEADER_KEYS = ['type', 'version', 'id', 'createdAt', 'cwd', 'parentSession', 'origin', 'delegationDepth']
const RETIRED_HEADER_KEYS = ['sandboxMode', 'approvalPolicy']

function readHeader(text: string, allowUnknownVersion: boolean, issues: IssueKind[]): SessionHeader {
  const header = parseJson(text)
  if (!isObject(header) || header.type !== 'session') throw new Refused('corrupt', 'header')

  // The version comes before every shape: a newer format is never called damaged.
  const version = header.version
  if (!isCount(version) || Object.is(version, -0)) throw new Refused('corrupt', 'header')
  if (version > NEWEST_VERSION) {
    if (!allowUnknownVersion) throw new Refused('unsupported', 'unknown-version')
    issues.push('unknown-version')
  }

  const { id, createdAt, cwd } = header
  if (typeof id !== 'string' || !isCount(createdAt)) throw new Refused('corrupt', 'header')
  if (Object.hasOwn(header, 'cwd') && typeof cwd !== 'string') throw new Refused('corrupt', 'header')

  const seedKey = version <= 1 ? 'seedLength' : 'isSeeded'
  for (const key of Object.keys(header)) {
    if (RETIRED_HEADER_KEYS.includes(key)) issues.push('retired-key')
    else if (![...HEADER_KEYS, 'agentPreset', seedKey].includes(key)) issues.push('extra-key')
  }

  const accepted: JsonObject = { version, id, createdAt: createdAt + 0 }
  if (typeof cwd === 'string') {
    accepted.cwd = cwd
    if (!/^(?:[/\\]|[A-Za-z]:[/\\])/.test(cwd)) issues.push('header-field')
  }
  const take = (key: string, isValid: (value: unknown) => boolean, isRequired = false): void => {
    const value = header[key]
    if (Object.hasOwn(header, key) && isValid(value)) accepted[key] = value
    else if (Object.hasOwn(header, key) || isRequired) issues.push('header-field')
  }
  take('parentSession', isString)
  if (version <= 1) take('seedLength', isCount)
  else take('isSeeded', (value) => typeof value === 'boolean', true)
  take('delegationDepth', isCount, true)
  take('agentPreset', isString)
  if (isString(header.origin)) accepted.origin = header.origin
  if (Object.hasOwn(header, 'origin') && header.origin !== 'subagent') issues.push('header-field')
  return accepted as unknown as SessionHeader
}

// Sections 3 and 7.1: rows, and which of them are accepted.

function acceptRows(
  rows: readonly Uint8Array[],
  version: number,
  mustAcceptRows: number,
  issues: IssueKind[],
): readonly Event[] {
  const events: Event[] = []
  let issue: Refused | undefined
  rows.forEach((bytes, index) => {
    const rowIssues: IssueKind[] = []
    const row = decodeRow(parseJson(decodeText(bytes, rowIssues)), version)
    const isCommitting = row?.events[0]?.type === 'turn/end'

    if (issue === undefined && row === undefined) issue = new Refused('corrupt', 'malformed-row', events.length)
    else if (issue === undefined && row?.events[0]?.seq !== events.length) {
      issue = new Refused('corrupt', 'seq-gap', events.length)
    }

    if (issue === undefined && row !== undefined) {
      events.push(...row.events)
      issues.push(...rowIssues, ...row.issues)
    } else if (issue !== undefined && (isCommitting || index < mustAcceptRows)) {
      throw issue
    }
  })
  if (issue !== undefined) issues.push('discarded-rows')
  return events
}

const ENVELOPE_KEYS = ['type', 'seq', 'time', 'data', 'ignorable', 'surfaceOp', 'sourceEventSeqs']
const PACKED_TYPES = ['text-chunks', 'reasoning-chunks', 'tool-call-chunks']

/** Returns `undefined` for a malformed row. */
function decodeRow(row: unknown, version: number): Row | undefined {
  if (!isObject(row) || typeof row.type !== 'string') return undefined
  if (version <= 1 && PACKED_TYPES.includes(row.type)) return decodePackedRow(row, row.type)

  const { type, seq, time } = row
  if (!isSeq(seq, version) || !Number.isSafeInteger(time) || !Object.hasOwn(row, 'data')) return undefined

  const issues: IssueKind[] = []
  for (const key of Object.keys(row)) if (!ENVELOPE_KEYS.includes(key)) issues.push('extra-key')
  if (Object.hasOwn(row, 'ignorable') && row.ignorable !== true) issues.push('envelope-field')
  const event: Event = {
    type,
    seq: seq + 0,
    data: row.data,
    ignorable: row.ignorable === true,
    ...(Object.hasOwn(row, 'surfaceOp') && { surfaceOp: { value: row.surfaceOp } }),
    ...(Object.hasOwn(row, 'sourceEventSeqs') && { sourceEventSeqs: { value: row.sourceEventSeqs } }),
  }
  return { events: [event], issues }
}

/** Section 3.3: a packed row is one row; anything wrong in it makes all of it malformed. */
function decodePackedRow(row: JsonObject, type: string): Row | undefined {
  const { seq0, time0, data } = row
  if (!hasExactKeys(row, ['type', 'seq0', 'time0', 'data'])) return undefined
  if (!isCount(seq0) || !Number.isSafeInteger(time0) || !isObject(data)) return undefined

  const isToolCall = type === 'tool-call-chunks'
  const keys = isToolCall ? ['turn', 'step', 'index', 'id', 'dt', 'args'] : ['turn', 'step', 'index', 'dt', 'texts']
  if (isToolCall && Object.hasOwn(data, 'name')) keys.push('name')
  if (!hasExactKeys(data, keys)) return undefined
  for (const key of ['turn', 'step', 'index']) if (typeof data[key] !== 'number') return undefined
  if (isToolCall && (!isString(data.id) || (Object.hasOwn(data, 'name') && !isString(data.name)))) return undefined

  const payload = isToolCall ? data.args : data.texts
  const { dt } = data
  if (!Array.isArray(payload) || payload.length === 0 || !payload.every(isString)) return undefined
  if (!Array.isArray(dt) || dt.length !== payload.length - 1 || !dt.every(Number.isSafeInteger)) return undefined

  let time = time0 as number
  const events: Event[] = []
  for (let member = 0; member < payload.length; member++) {
    if (member > 0) time += dt[member - 1] as number
    const seq = seq0 + member
    if (!Number.isSafeInteger(time) || !Number.isSafeInteger(seq)) return undefined
    events.push({ type: 'assistant/chunk', seq, data: undefined, ignorable: false })
  }
  return { events, issues: [] }
}

// Section 4.1: old shapes of version 0.

function normaliseLegacy(events: readonly Event[], sessionId: string): readonly Event[] {
  const normalised: Event[] = []
  for (const event of events) normalised.push(normaliseEvent(event, normalised, sessionId))
  return normalised
}

function normaliseEvent(event: Event, earlier: readonly Event[], sessionId: string): Event {
  const { type, seq, data } = event
  const isFallback = type === 'request/header' && isObject(data) && data.reason === 'fallback'
  if (type === 'request/header-delta' || type === 'mode/set' || isFallback) {
    throw new Refused('unsupported', 'retired-shape', seq)
  }
  if (!isObject(data)) return type === 'steering/message' ? { ...event, type: 'user/message' } : event

  const id = `legacy-message:${sessionId}:${seq}`
  const has = (...keys: string[]): boolean => keys.every((key) => Object.hasOwn(data, key))
  const lacks = (...keys: string[]): boolean => keys.every((key) => !Object.hasOwn(data, key))

  if (type === 'steering/message') {
    const message = has('message') ? data.message : { id, role: 'user', content: data.content, source: data.source }
    return { ...event, type: 'user/message', data: message }
  }
  if (type === 'user/message' && lacks('id', 'role', 'message') && has('content', 'source')) {
    return { ...event, data: { ...data, id, role: 'user' } }
  }
  if (type === 'assistant/message' && lacks('message') && has('content', 'provenance') && isObject(data.provenance)) {
    const { content, provenance, ...rest } = data
    const source = { ...(provenance as JsonObject), kind: 'model' }
    return { ...event, data: { ...rest, message: { id, role: 'assistant', content, source } } }
  }
  if (type === 'tool/result' && lacks('message') && has('callId', 'content')) {
    const { callId, content, isError, ...rest } = data
    const block = { type: 'tool-result', toolCallId: callId, content, ...(has('isError') && { isError }) }
    const message = {
      id: idOfReplaced(event, earlier) ?? id,
      role: 'user',
      content: [block],
      source: { kind: 'tool', callId },
    }
    return { ...event, data: { ...rest, message } }
  }
  return event
}

/** A rewrite keeps the id of the message it rewrites, which old tool results did not store. */
function idOfReplaced(event: Event, earlier: readonly Event[]): string | undefined {
  const op = event.surfaceOp?.value
  if (!isObject(op) || typeof op.start !== 'number') return undefined
  const replaced = earlier[op.start]
  if (replaced === undefined || !isObject(replaced.data)) return undefined
  const message = replaced.type === 'user/message' ? replaced.data : replaced.data.message
  return isObject(message) && isString(message.id) ? message.id : undefined
}

// Section 5: the fold.

/** Types that may stand on a surface of this version. */
function surfaceTypes(version: number): readonly string[] {
  const types = ['user/message', 'assistant/message', 'tool/result']
  if (version >= 3) types.push('system/message')
  if (version >= 4) types.push('developer/message')
  return types
}

interface Surface {
  readonly nodes: readonly number[]
  readonly replacements: readonly ReferenceReplacement[]
}

function fold(events: readonly Event[], version: number, checkShadowed: boolean, issues: IssueKind[]): Surface {
  let nodes: number[] = []
  const replacements: ReferenceReplacement[] = []

  events.forEach((event, index) => {
    if (event.seq !== index) throw new Refused('corrupt', 'seq-gap', event.seq)
    if (!surfaceTypes(version).includes(event.type)) {
      foldLogOnly(event, version, issues)
      return
    }

    // The binding of tools reads a developer message even when it is shadowed later.
    if (checkShadowed || (version === 4 && event.type === 'developer/message')) readMessage(event, version, issues)
    if (event.surfaceOp === undefined) throw new Refused('corrupt', 'missing-surface-op', event.seq)
    const sources = readSources(event, version)
    if (event.type === 'developer/message') checkDeveloperBinding(event, events, version)

    const op = event.surfaceOp.value
    if (op === 'append') {
      nodes.push(event.seq)
      return
    }
    const { start, end } = readReplaceOp(op, event.seq, version)
    const startIndex = nodes.indexOf(start)
    const endIndex = nodes.indexOf(end)
    if (startIndex === -1 || endIndex === -1) {
      throw new Refused('corrupt', 'replace-endpoint-not-on-surface', event.seq)
    }
    if (startIndex > endIndex) throw new Refused('corrupt', 'replace-order', event.seq)

    const shadowedSeqs = nodes.slice(startIndex, endIndex + 1)
    for (const shadowed of shadowedSeqs) {
      if (sources === undefined || !sources.includes(shadowed)) {
        throw new Refused('corrupt', 'provenance-missing', event.seq)
      }
    }
    const head = events[nodes[0] as number]
    if (version >= 3 && startIndex === 0 && head?.type === 'system/message') {
      if (event.type !== 'system/message' || endIndex !== 0) throw new Refused('corrupt', 'system-head', event.seq)
    }
    if (event.type === 'tool/result') checkToolRewrite(event, shadowedSeqs, events, version)

    nodes = [...nodes.slice(0, startIndex), event.seq, ...nodes.slice(endIndex + 1)]
    replacements.push({ seq: event.seq, start, end, shadowedSeqs })
  })
  return { nodes, replacements }
}

function foldLogOnly(event: Event, version: number, issues: IssueKind[]): void {
  const isKnown = KNOWN_LOG_ONLY_TYPES.includes(event.type)
  if (event.surfaceOp !== undefined || event.sourceEventSeqs !== undefined) {
    // From version 2 on everything in an unknown event that may be ignored is opaque.
    const isOpaque = version >= 2 && event.ignorable && !isKnown
    if (!isOpaque) {
      throw new Refused(isKnown ? 'corrupt' : 'unsupported', 'surface-metadata-on-log-only-event', event.seq)
    }
  }
  if (!isKnown && !event.ignorable) issues.push('unknown-event-type')
  if (version >= 3 && event.type === 'request/header' && isObject(event.data)) {
    const { header } = event.data
    if (isObject(header) && Object.hasOwn(header, 'system')) issues.push('retired-key')
  }
}

/** Section 3.4: expands ranges; returns `undefined` when the event cites nothing. */
function readSources(event: Event, version: number): readonly number[] | undefined {
  if (event.sourceEventSeqs === undefined) return undefined
  const isAssistant = event.type === 'assistant/message'
  if (isAssistant && version >= 2) throw new Refused('corrupt', 'sources-forbidden', event.seq)

  const stored = event.sourceEventSeqs.value
  if (!Array.isArray(stored)) throw new Refused('corrupt', 'sources-shape', event.seq)
  if (stored.length === 0 && !isAssistant) throw new Refused('corrupt', 'sources-empty', event.seq)

  const sources: number[] = []
  for (const entry of stored) {
    if (Array.isArray(entry)) {
      const [start, end] = entry
      if (entry.length !== 2 || !isSeq(start, version) || !isSeq(end, version) || start > end) {
        throw new Refused('corrupt', 'sources-shape', event.seq)
      }
      if (end >= event.seq) throw new Refused('corrupt', 'sources-future', event.seq)
      for (let seq = start; seq <= end; seq++) sources.push(seq + 0)
    } else {
      if (!isSeq(entry, version)) throw new Refused('corrupt', 'sources-shape', event.seq)
      if (entry >= event.seq) throw new Refused('corrupt', 'sources-future', event.seq)
      sources.push(entry + 0)
    }
    // Unique seqs below the event's own are at most as many as its seq.
    if (sources.length > event.seq) throw new Refused('corrupt', 'sources-duplicate', event.seq)
  }
  if (stored.some(Array.isArray) && sources.some((seq, index) => index > 0 && seq <= (sources[index - 1] as number))) {
    throw new Refused('corrupt', 'sources-shape', event.seq)
  }
  if (sources.some((seq, index) => sources.indexOf(seq) !== index)) {
    throw new Refused('corrupt', 'sources-duplicate', event.seq)
  }
  return sources
}

function readReplaceOp(op: unknown, seq: number, version: number): { start: number; end: number } {
  const spellings = [
    ...(version <= 2 || version > NEWEST_VERSION ? [['start', 'end'] as const] : []),
    ...(version >= 3 ? [['startSeq', 'endSeq'] as const] : []),
  ]
  for (const [startKey, endKey] of spellings) {
    if (!isObject(op) || !hasExactKeys(op, ['op', startKey, endKey]) || op.op !== 'replace') continue
    const start = op[startKey]
    const end = op[endKey]
    if (!isSeq(start, version) || !isSeq(end, version)) throw new Refused('corrupt', 'replace-endpoint', seq)
    if (version >= 1 && (start >= seq || end >= seq)) throw new Refused('corrupt', 'replace-endpoint', seq)
    return { start: start + 0, end: end + 0 }
  }
  throw new Refused('corrupt', isObject(op) && op.op === 'replace' ? 'replace-keys' : 'surface-op', seq)
}

function checkToolRewrite(
  event: Event,
  shadowedSeqs: readonly number[],
  events: readonly Event[],
  version: number,
): void {
  const replaced = events[shadowedSeqs[0] as number]
  if (shadowedSeqs.length !== 1 || replaced?.type !== 'tool/result') {
    throw new Refused('corrupt', 'tool-rewrite-span', event.seq)
  }
  for (const each of [replaced, event]) readMessage(each, version, [])
  if (!isDeepStrictEqual(withoutResult(replaced.data), withoutResult(event.data))) {
    throw new Refused('corrupt', 'tool-rewrite-changed', event.seq)
  }
}

/** A copy of a tool result's data with the content of the result set to null; its message has passed `readMessage`. */
function withoutResult(data: unknown): unknown {
  const copy = structuredClone(data) as { message: { role: string; content: { content: unknown }[] | null } }
  const wrapper = copy.message.role === 'tool' ? undefined : copy.message.content?.[0]
  if (wrapper === undefined) copy.message.content = null
  else wrapper.content = null
  return copy
}

/** Version 4: tools a developer message adds are the tools of the request header it names. */
function checkDeveloperBinding(event: Event, events: readonly Event[], version: number): void {
  const fail: () => never = () => {
    throw new Refused('corrupt', 'developer-binding', event.seq)
  }
  const additions = readMessage(event, version, []).content.filter((block) => block.type === 'tool-addition')
  const data = event.data as JsonObject
  if (Object.hasOwn(data, 'headerSeq') !== additions.length > 0) fail()
  if (additions.length === 0) return

  const { headerSeq } = data
  if (!isSeq(headerSeq, version) || headerSeq >= event.seq) fail()
  const named = events[headerSeq]
  if (named?.type !== 'request/header' || !isObject(named.data) || !isObject(named.data.header)) fail()
  const { tools } = named.data.header
  if (!Array.isArray(tools)) fail()
  for (const { toolName } of additions) {
    const matches = tools.filter((tool) => (isObject(tool) ? tool.name : tool) === toolName)
    if (!isString(toolName) || matches.length !== 1) fail()
  }
}

// Section 4: messages, projection, title, seed.

/** The message of a surface event. A message without id is an issue; every other wrong shape refuses. */
function readMessage(event: Event, version: number, issues: IssueKind[]): Message {
  const refuse: () => never = () => {
    throw new Refused('corrupt', 'message-shape', event.seq)
  }
  if (!isObject(event.data)) refuse()
  const message = event.type === 'user/message' ? event.data : event.data.message
  if (!isObject(message)) refuse()
  const { id, role, content, source } = message
  if (!isObject(source) || !isString(source.kind) || source.kind === '') refuse()
  if (!Array.isArray(content)) refuse()
  if (!content.every((block) => isObject(block) && isString(block.type))) refuse()

  if (event.type === 'tool/result') checkToolMessage(event.data, message, version, refuse)
  else if (`${role}/message` !== event.type) refuse()
  if (event.type === 'assistant/message' && source.kind !== 'model') refuse()

  const hasId = isString(id) && id !== ''
  if (!hasId) issues.push('message-id')
  return { id: hasId ? id : undefined, content, source }
}

function checkToolMessage(data: JsonObject, message: JsonObject, version: number, refuse: () => never): void {
  const content = message.content as JsonObject[]
  const source = message.source as JsonObject
  if (source.kind !== 'tool' || !isString(source.callId)) refuse()

  // Forks write version 3 bodies in version 4 files, so from 4 on the role tells the two shapes apart.
  const isDirect = version >= 4 && message.role === 'tool'
  const result = isDirect ? message : content[0]
  if (!isDirect) {
    if (message.role !== 'user' || content.length !== 1) refuse()
    if (result?.type !== 'tool-result' || !Array.isArray(result.content)) refuse()
  }
  if (result?.toolCallId !== source.callId) refuse()
  if (isDirect && Object.hasOwn(message, 'isError') && typeof message.isError !== 'boolean') refuse()
  if (version >= 3 && Object.hasOwn(data, 'error') && result?.isError !== true) refuse()
}

function project(
  nodes: readonly number[],
  events: readonly Event[],
  version: number,
  issues: IssueKind[],
  isChecked: boolean,
): readonly ReferenceMessage[] {
  const conversation: ReferenceMessage[] = []
  for (const seq of nodes) {
    const event = events[seq] as Event
    const { content, source } = readMessage(event, version, isChecked ? [] : issues)
    const checkpoint = event.type === 'user/message' && isCheckpoint(source)
    const isFromUser = event.type === 'user/message' && source.kind === 'user'
    if (!checkpoint && !isFromUser && event.type !== 'assistant/message') continue

    const texts = content.filter((block) => block.type === 'text').map((block) => block.text)
    const text = texts.filter(isString).join('\n')
    if (text !== '') conversation.push({ role: isFromUser || checkpoint ? 'user' : 'assistant', text, checkpoint })
  }
  return conversation
}

/** Section 4.2: the two spellings, whichever version they stand in. */
function isCheckpoint(source: JsonObject): boolean {
  return source.kind === 'compact-checkpoint' || (source.kind === 'plugin' && source.plugin === 'compact')
}

/** Section 4.4: the last title wins; an event without a title string is none. */
function foldTitle(events: readonly Event[]): string | null {
  let title: string | null = null
  for (const { type, data } of events) {
    if (type === 'session/title' && isObject(data) && isString(data.title)) title = data.title
  }
  return title
}

/** Section 3.5. The cut changes neither surface nor text, so a missing or superfluous marker is only an issue. */
function checkSeedMarker(header: SessionHeader, events: readonly Event[], issues: IssueKind[]): void {
  if (header.version <= 1) {
    if (header.seedLength !== undefined && header.seedLength > events.length) issues.push('seed-marker')
    return
  }
  const markers = events.filter(
    ({ type, data }) => type === 'session/end-seed' && isObject(data) && data.inherited === true,
  )
  if (header.isSeeded !== undefined && header.isSeeded !== markers.length > 0) issues.push('seed-marker')
}

// Values.

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON; no JSON value is undefined.
    return undefined
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isString(value: unknown): value is string {
  return typeof value === 'string'
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** A sequence number. Section 5: −0 counts as 0 up to version 2 and is none from version 3 on. */
function isSeq(value: unknown, version: number): value is number {
  return isCount(value) && (version <= 2 || !Object.is(value, -0))
}

function hasExactKeys(value: JsonObject, keys: readonly string[]): boolean {
  return Object.keys(value).length === keys.length && keys.every((key) => Object.hasOwn(value, key))
}
