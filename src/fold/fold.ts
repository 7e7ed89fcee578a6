// Computes the surface from events in seq order (FORMAT.md section 5): plan checks every rule and changes nothing, apply
// cannot fail. Where events come from, and what becomes of their text, is not known here.

import { brief, briefText } from '../text/json-bytes.ts'
import type { LogOnlyEvent, Replacement, SurfaceEvent } from '../types.ts'

/** Every rule of the fold that a log can break. */
export type FoldRule =
  | 'surface-op-missing'
  | 'surface-op-shape'
  | 'surface-metadata-on-log-only-event'
  | 'replace-endpoint-shape'
  | 'replace-endpoint-not-earlier'
  | 'replace-endpoint-not-on-surface'
  | 'replace-order'
  | 'sources-shape'
  | 'sources-empty'
  | 'sources-not-earlier'
  | 'sources-duplicate'
  | 'sources-forbidden'
  | 'provenance-missing'
  | 'tool-rewrite-span'
  | 'tool-rewrite-changed'
  | 'system-head'
  | 'developer-binding'

/** A broken rule, as facts. */
export interface FoldViolation {
  readonly rule: FoldRule
  readonly seq: number
  readonly message: string
  readonly expected: unknown
  readonly actual: unknown
}

/** What an event will do to the surface once applied. */
export type FoldPlan =
  | { readonly kind: 'append'; readonly event: SurfaceEvent }
  | {
      readonly kind: 'replace'
      readonly event: SurfaceEvent
      readonly start: number
      readonly end: number
      readonly shadowed: readonly Node[]
    }

interface Node {
  readonly event: SurfaceEvent
  previous: Node | undefined
  next: Node | undefined
  isLive: boolean
}

/** Cited seqs as inclusive ranges `[start0, end0, start1, end1, …]` in cited order; never expanded. */
interface CitedSeqs {
  readonly ranges: readonly number[]
  readonly count: number
}

/** Whether `plan` said no. */
export function isViolation(outcome: FoldPlan | FoldViolation): outcome is FoldViolation {
  return 'rule' in outcome
}

/**
 * The surface of one log. Work per event is proportional to what the event itself says (its sources, the nodes it shadows),
 * and to the logarithm of the surface where a replacement looks for its ends; never to the length of the surface.
 */
export class SurfaceFold {
  readonly #version: number
  readonly #index = new SeqIndex()
  readonly #replacements: Replacement[] = []
  /** Names of the tools of each `request/header`; headers that name the same tools share one list. */
  readonly #toolsOfHeader = new Map<number, readonly string[]>()
  #lastTools: readonly string[] = []
  #first: Node | undefined
  #last: Node | undefined

  constructor(formatVersion: number) {
    this.#version = formatVersion
  }

  /** Replacements applied so far, in log order. */
  get replacements(): readonly Replacement[] {
    return this.#replacements
  }

  /** The events on the surface, in surface order. */
  *events(): Generator<SurfaceEvent> {
    for (let node = this.#first; node; node = node.next) yield node.event
  }

  /** Puts events on the empty surface, in surface order: what an earlier fold of the same log had come to. */
  seed(events: readonly SurfaceEvent[]): void {
    const nodes = events.map((event): Node => ({ event, previous: undefined, next: undefined, isLive: true }))
    for (const [at, node] of nodes.entries()) {
      node.previous = nodes[at - 1]
      node.next = nodes[at + 1]
    }
    this.#first = nodes[0]
    this.#last = nodes.at(-1)
    for (const node of nodes.sort((one, other) => one.event.seq - other.event.seq)) this.#index.add(node)
  }

  /** Number of events on the surface. */
  get length(): number {
    return this.#index.size
  }

  /** Whether the event with this seq is on the surface. */
  has(seq: number): boolean {
    return this.#index.get(seq) !== undefined
  }

  /** Judges an event that may not touch the surface; `undefined` when it keeps the rules. */
  checkLogOnly(
    event: Pick<LogOnlyEvent, 'seq' | 'type' | 'hasSurfaceMetadata' | 'isOpaque'>,
  ): FoldViolation | undefined {
    if (!event.hasSurfaceMetadata) return undefined
    // v2 and later keep the metadata of an unknown type that may be skipped opaque.
    if (event.isOpaque && this.#version >= 2) return undefined
    return violation(
      'surface-metadata-on-log-only-event',
      event.seq,
      `A ${briefText(event.type)} event carries surface metadata`,
      'neither surfaceOp nor sourceEventSeqs',
      'surface metadata',
    )
  }

  /** Remembers a `request/header`, to which later `developer/message` events may refer. */
  noteRequestHeader(seq: number, data: () => unknown): void {
    if (this.#version !== 4) return
    const tools = toolNamesOf(data())
    if (!tools) return
    const last = this.#lastTools
    const isSame = tools.length === last.length && tools.every((name, at) => name === last[at])
    if (!isSame) this.#lastTools = tools
    this.#toolsOfHeader.set(seq, this.#lastTools)
  }

  /** Checks every rule for `event` against the surface as it is now. */
  plan(event: SurfaceEvent): FoldPlan | FoldViolation {
    const { seq, surfaceOp } = event
    if (surfaceOp === undefined) {
      return violation('surface-op-missing', seq, `A ${event.type} event has no surfaceOp`, 'a surfaceOp', 'none')
    }
    const cited = this.#citedSeqs(event)
    if (cited && 'rule' in cited) return cited
    const binding = event.type === 'developer/message' ? this.#checkDeveloperBinding(event) : undefined
    if (binding) return binding
    if (surfaceOp === 'append') return { kind: 'append', event }
    return this.#planReplace(event, cited)
  }

  /** Carries out a plan made for the surface as it is now. */
  apply(plan: FoldPlan): void {
    if (plan.kind === 'append') {
      this.#insert(plan.event, this.#last, undefined)
      return
    }
    const first = plan.shadowed[0] as Node
    const last = plan.shadowed[plan.shadowed.length - 1] as Node
    for (const node of plan.shadowed) {
      this.#index.remove(node)
      node.event.release()
    }
    this.#insert(plan.event, first.previous, last.next)
    this.#replacements.push({
      seq: plan.event.seq,
      start: plan.start,
      end: plan.end,
      shadowedSeqs: plan.shadowed.map((node) => node.event.seq),
    })
  }

  #insert(event: SurfaceEvent, previous: Node | undefined, next: Node | undefined): void {
    const node: Node = { event, previous, next, isLive: true }
    if (previous) previous.next = node
    else this.#first = node
    if (next) next.previous = node
    else this.#last = node
    this.#index.add(node)
  }

  #planReplace(event: SurfaceEvent, cited: CitedSeqs | undefined): FoldPlan | FoldViolation {
    const { seq } = event
    const range = this.#replaceRange(event)
    if ('rule' in range) return range
    const { start, end } = range
    const startNode = this.#index.get(start)
    const endNode = this.#index.get(end)
    if (!startNode || !endNode) {
      const missing = startNode ? end : start
      return violation(
        'replace-endpoint-not-on-surface',
        seq,
        `A replacement names seq ${missing}, which is not on the surface`,
        'both endpoints on the surface',
        missing,
      )
    }
    const shadowed: Node[] = []
    let node: Node | undefined = startNode
    for (; node && node !== endNode; node = node.next) shadowed.push(node)
    if (!node) {
      return violation(
        'replace-order',
        seq,
        `A replacement starts at seq ${start}, which stands after its end ${end} on the surface`,
        'start before or at end, by position',
        { start, end },
      )
    }
    shadowed.push(endNode)
    const missing = firstUncited(shadowed, cited)
    if (missing !== undefined) {
      return violation(
        'provenance-missing',
        seq,
        `A replacement does not cite seq ${missing}, which it shadows`,
        'sourceEventSeqs with every shadowed seq',
        missing,
      )
    }
    return this.#checkProtected(event, shadowed) ?? { kind: 'replace', event, start, end, shadowed }
  }

  /** The rules on what may replace what: tool-result rewrites and the system head. */
  #checkProtected(event: SurfaceEvent, shadowed: readonly Node[]): FoldViolation | undefined {
    const first = shadowed[0] as Node
    if (this.#version >= 3 && first === this.#first && first.event.type === 'system/message') {
      if (event.type !== 'system/message' || shadowed.length !== 1) {
        return violation(
          'system-head',
          event.seq,
          `A ${event.type} event replaces the system message at the head of the surface`,
          'a system/message replacing exactly the head',
          { type: event.type, shadowed: shadowed.length },
        )
      }
    }
    if (event.type !== 'tool/result') return undefined
    if (shadowed.length !== 1 || first.event.type !== 'tool/result') {
      return violation(
        'tool-rewrite-span',
        event.seq,
        'A tool/result replaces something else than one tool/result',
        'exactly one tool/result',
        shadowed.map((node) => node.event.type),
      )
    }
    if (!sameButResultContent(first.event.data(), event.data())) {
      return violation(
        'tool-rewrite-changed',
        event.seq,
        `A tool/result rewrite changes more than the content of the result at seq ${first.event.seq}`,
        'the same data but for the result content',
        'other data',
      )
    }
    return undefined
  }

  #replaceRange(event: SurfaceEvent): { start: number; end: number } | FoldViolation {
    const { seq, surfaceOp } = event
    const old = this.#version < 3
    const spelling = old ? '{op, start, end}' : '{op, startSeq, endSeq}'
    if (!isRecord(surfaceOp) || surfaceOp.op !== 'replace' || Object.keys(surfaceOp).length !== 3) {
      return violation(
        'surface-op-shape',
        seq,
        'A surfaceOp has an unknown shape',
        `"append" or ${spelling}`,
        surfaceOp,
      )
    }
    const isForeign = this.#version > 4
    const hasOld = Object.hasOwn(surfaceOp, 'start') && Object.hasOwn(surfaceOp, 'end')
    const hasNew = Object.hasOwn(surfaceOp, 'startSeq') && Object.hasOwn(surfaceOp, 'endSeq')
    if (!(hasOld && (old || isForeign)) && !(hasNew && (!old || isForeign))) {
      return violation('surface-op-shape', seq, 'A replacement has the wrong keys', spelling, surfaceOp)
    }
    const start = hasOld ? surfaceOp.start : surfaceOp.startSeq
    const end = hasOld ? surfaceOp.end : surfaceOp.endSeq
    if (!this.#isSeq(start) || !this.#isSeq(end)) {
      return violation(
        'replace-endpoint-shape',
        seq,
        'An endpoint of a replacement is not a seq',
        'non-negative safe integers',
        { start, end },
      )
    }
    if (start >= seq || end >= seq) {
      return violation(
        'replace-endpoint-not-earlier',
        seq,
        'A replacement names an endpoint that is not earlier than itself',
        `endpoints below ${seq}`,
        { start, end },
      )
    }
    return { start: start + 0, end: end + 0 }
  }

  /** Checks `sourceEventSeqs` (FORMAT.md section 3.4 and rule 5 of section 5); `undefined` when there is none. */
  #citedSeqs(event: SurfaceEvent): CitedSeqs | FoldViolation | undefined {
    const { seq, type, sourceEventSeqs: stored } = event
    if (stored === undefined) return undefined
    const isAssistant = type === 'assistant/message'
    if (isAssistant && this.#version >= 2 && this.#version <= 4) {
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
      const isRange = this.#isSeq(start) && this.#isSeq(end) && start <= end && end < seq
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
      if ((isPair && entry.length !== 2) || !this.#isSeq(start) || !this.#isSeq(end) || start > end) {
        return violation(
          'sources-shape',
          seq,
          'sourceEventSeqs holds something else than a seq',
          'seqs or ranges',
          entry,
        )
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

  /** −0 counts as 0 in the versions whose readers took it (FORMAT.md section 5). */
  #isSeq(value: unknown): value is number {
    return Number.isSafeInteger(value) && (value as number) >= 0 && (this.#version < 3 || !Object.is(value, -0))
  }

  /** v4: each `tool-addition` is bound to one tool of an earlier `request/header` (FORMAT.md section 5). */
  #checkDeveloperBinding(event: SurfaceEvent): FoldViolation | undefined {
    if (this.#version !== 4) return undefined
    const data = event.data()
    if (!isRecord(data) || !isRecord(data.message) || !Array.isArray(data.message.content)) return undefined
    const additions = data.message.content.filter((block) => isRecord(block) && block.type === 'tool-addition')
    const broken = (expected: string, actual: unknown) =>
      violation(
        'developer-binding',
        event.seq,
        'A developer/message is not bound to its request header',
        expected,
        actual,
      )
    if (additions.length === 0) {
      return data.headerSeq === undefined ? undefined : broken('no headerSeq without a tool-addition', data.headerSeq)
    }
    const { headerSeq } = data
    const tools = typeof headerSeq === 'number' ? this.#toolsOfHeader.get(headerSeq) : undefined
    if (!tools) return broken('headerSeq of an earlier request/header with tools', headerSeq ?? null)
    for (const { toolName } of additions) {
      if (typeof toolName !== 'string') return broken('the name of a tool', toolName ?? null)
      const matches = tools.filter((name) => name === toolName).length
      if (matches !== 1) return broken(`exactly one tool named ${briefText(toolName)} in that header`, matches)
    }
    return undefined
  }
}

/**
 * Nodes by seq. Events come in the order of their seqs, so a list is an index already; a Map takes as long for each event as
 * everything else that is done with it, and is asked for the ends of replacements only.
 */
class SeqIndex {
  #nodes: Node[] = []
  #removed = 0

  get size(): number {
    return this.#nodes.length - this.#removed
  }

  add(node: Node): void {
    this.#nodes.push(node)
  }

  remove(node: Node): void {
    node.isLive = false
    this.#removed++
    // Once for as many removals as there are nodes left, so that shadowed events do not fill the memory.
    if (2 * this.#removed < this.#nodes.length) return
    this.#nodes = this.#nodes.filter(({ isLive }) => isLive)
    this.#removed = 0
  }

  get(seq: number): Node | undefined {
    let low = 0
    let high = this.#nodes.length - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      const node = this.#nodes[middle] as Node
      if (node.event.seq === seq) return node.isLive ? node : undefined
      if (node.event.seq < seq) low = middle + 1
      else high = middle - 1
    }
    return undefined
  }
}

function violation(rule: FoldRule, seq: number, message: string, expected: unknown, actual: unknown): FoldViolation {
  return { rule, seq, message, expected: brief(expected), actual: brief(actual) }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The names of the tools a `request/header` payload lists, or `undefined` when it lists none. */
function toolNamesOf(data: unknown): string[] | undefined {
  const tools = isRecord(data) && isRecord(data.header) ? data.header.tools : undefined
  if (!Array.isArray(tools)) return undefined
  return tools.map((tool) => (isRecord(tool) ? tool.name : tool)).filter((name) => typeof name === 'string')
}

/** The first shadowed seq outside the cited ranges. */
function firstUncited(shadowed: readonly Node[], cited: CitedSeqs | undefined): number | undefined {
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

/** Compares two `tool/result` payloads with the content of the result taken out (FORMAT.md section 5, rule 6). */
function sameButResultContent(before: unknown, after: unknown): boolean {
  return isSameJson(withoutResultContent(before), withoutResultContent(after))
}

function withoutResultContent(data: unknown): unknown {
  if (!isRecord(data) || !isRecord(data.message)) return data
  const { message } = data
  // The old shape wraps the result in one block; the v4 shape is the message itself.
  if (message.role === 'tool') return { ...data, message: { ...message, content: null } }
  if (!Array.isArray(message.content) || !isRecord(message.content[0])) return data
  const [wrapper, ...rest] = message.content
  return { ...data, message: { ...message, content: [{ ...wrapper, content: null }, ...rest] } }
}

/** Deep equality of JSON values; iterative, since a hostile log can nest deeper than the stack. */
export function isSameJson(left: unknown, right: unknown): boolean {
  const pending: [unknown, unknown][] = [[left, right]]
  for (let pair = pending.pop(); pair; pair = pending.pop()) {
    const [a, b] = pair
    if (a === b) continue
    if (Array.isArray(a)) {
      if (!Array.isArray(b) || a.length !== b.length) return false
      for (let index = 0; index < a.length; index++) pending.push([a[index], b[index]])
      continue
    }
    if (!isRecord(a) || !isRecord(b)) return false
    const keys = Object.keys(a)
    if (keys.length !== Object.keys(b).length) return false
    for (const key of keys) {
      if (!Object.hasOwn(b, key)) return false
      pending.push([a[key], b[key]])
    }
  }
  return true
}
