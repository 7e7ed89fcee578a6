// Computes the surface from events in seq order (FORMAT.md section 5): plan checks every rule and changes nothing, apply
// cannot fail. Where events come from, and what becomes of their text, is not known here.

import { briefText } from '../text/json-bytes.ts'
import type { LogOnlyEvent, Replacement, SurfaceEvent } from '../types.ts'
import { type CitedSeqs, citedSeqs, firstUncited } from './cited-seqs.ts'
import { checkProtected } from './protected-nodes.ts'
import { replacedRange } from './replaced-range.ts'
import { SurfaceList, type SurfaceNode } from './surface-list.ts'
import { ToolAdditions } from './tool-additions.ts'
import { type FoldViolation, violation } from './violation.ts'

/** What an event will do to the surface once applied. */
export type FoldPlan =
  | { readonly kind: 'append'; readonly event: SurfaceEvent }
  | {
      readonly kind: 'replace'
      readonly event: SurfaceEvent
      readonly start: number
      readonly end: number
      readonly shadowed: readonly SurfaceNode[]
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
  readonly #surface = new SurfaceList()
  readonly #replacements: Replacement[] = []
  readonly #toolAdditions: ToolAdditions

  constructor(formatVersion: number) {
    this.#version = formatVersion
    this.#toolAdditions = new ToolAdditions(formatVersion)
  }

  /** Replacements applied so far, in log order. */
  get replacements(): readonly Replacement[] {
    return this.#replacements
  }

  /** The events on the surface, in surface order. */
  events(): Generator<SurfaceEvent> {
    return this.#surface.events()
  }

  /** Puts events on the empty surface, in surface order: what an earlier fold of the same log had come to. */
  seed(events: readonly SurfaceEvent[]): void {
    this.#surface.seed(events)
  }

  /** Number of events on the surface. */
  get length(): number {
    return this.#surface.size
  }

  /** Whether the event with this seq is on the surface. */
  has(seq: number): boolean {
    return this.#surface.get(seq) !== undefined
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
    this.#toolAdditions.noteRequestHeader(seq, data)
  }

  /** Checks every rule for `event` against the surface as it is now. */
  plan(event: SurfaceEvent): FoldPlan | FoldViolation {
    const { seq, surfaceOp } = event
    if (surfaceOp === undefined) {
      return violation('surface-op-missing', seq, `A ${event.type} event has no surfaceOp`, 'a surfaceOp', 'none')
    }
    const cited = citedSeqs(event, this.#version)
    if (cited && 'rule' in cited) return cited
    const binding = event.type === 'developer/message' ? this.#toolAdditions.check(event) : undefined
    if (binding) return binding
    if (surfaceOp === 'append') return { kind: 'append', event }
    return this.#planReplace(event, cited)
  }

  /** Carries out a plan made for the surface as it is now. */
  apply(plan: FoldPlan): void {
    if (plan.kind === 'append') {
      this.#surface.append(plan.event)
      return
    }
    this.#surface.replace(plan.shadowed, plan.event)
    this.#replacements.push({
      seq: plan.event.seq,
      start: plan.start,
      end: plan.end,
      shadowedSeqs: plan.shadowed.map((node) => node.event.seq),
    })
  }

  #planReplace(event: SurfaceEvent, cited: CitedSeqs | undefined): FoldPlan | FoldViolation {
    const { seq } = event
    const range = replacedRange(event, this.#version)
    if ('rule' in range) return range
    const { start, end } = range
    const startNode = this.#surface.get(start)
    const endNode = this.#surface.get(end)
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
    const shadowed: SurfaceNode[] = []
    let node: SurfaceNode | undefined = startNode
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
    const broken = checkProtected(event, shadowed, this.#surface.first, this.#version)
    return broken ?? { kind: 'replace', event, start, end, shadowed }
  }
}
