// The events on the surface, a list in surface order with an index by seq. What may be done to it is up to fold.ts.

import type { SurfaceEvent } from '../types.ts'

/** An event on the surface, and its neighbours. */
export interface SurfaceNode {
  readonly event: SurfaceEvent
  previous: SurfaceNode | undefined
  next: SurfaceNode | undefined
  isLive: boolean
}

/** The surface of one log as it is now. */
export class SurfaceList {
  readonly #index = new SeqIndex()
  #first: SurfaceNode | undefined
  #last: SurfaceNode | undefined

  get first(): SurfaceNode | undefined {
    return this.#first
  }

  get size(): number {
    return this.#index.size
  }

  /** The node of the event with this seq, if it is on the surface. */
  get(seq: number): SurfaceNode | undefined {
    return this.#index.get(seq)
  }

  *events(): Generator<SurfaceEvent> {
    for (let node = this.#first; node; node = node.next) yield node.event
  }

  /** Puts events on the empty surface, in surface order. */
  seed(events: readonly SurfaceEvent[]): void {
    const nodes = events.map((event): SurfaceNode => ({ event, previous: undefined, next: undefined, isLive: true }))
    for (const [at, node] of nodes.entries()) {
      node.previous = nodes[at - 1]
      node.next = nodes[at + 1]
    }
    this.#first = nodes[0]
    this.#last = nodes.at(-1)
    for (const node of nodes.sort((one, other) => one.event.seq - other.event.seq)) this.#index.add(node)
  }

  append(event: SurfaceEvent): void {
    this.#insert(event, this.#last, undefined)
  }

  /** Puts an event in the place of neighbouring nodes, and releases theirs. */
  replace(shadowed: readonly SurfaceNode[], event: SurfaceEvent): void {
    const first = shadowed[0] as SurfaceNode
    const last = shadowed[shadowed.length - 1] as SurfaceNode
    for (const node of shadowed) {
      this.#index.remove(node)
      node.event.release()
    }
    this.#insert(event, first.previous, last.next)
  }

  #insert(event: SurfaceEvent, previous: SurfaceNode | undefined, next: SurfaceNode | undefined): void {
    const node: SurfaceNode = { event, previous, next, isLive: true }
    if (previous) previous.next = node
    else this.#first = node
    if (next) next.previous = node
    else this.#last = node
    this.#index.add(node)
  }
}

/**
 * Nodes by seq. Events come in the order of their seqs, so a list is an index already; a Map takes as long for each event as
 * everything else that is done with it, and is asked for the ends of replacements only.
 */
class SeqIndex {
  #nodes: SurfaceNode[] = []
  #removed = 0

  get size(): number {
    return this.#nodes.length - this.#removed
  }

  add(node: SurfaceNode): void {
    this.#nodes.push(node)
  }

  remove(node: SurfaceNode): void {
    node.isLive = false
    this.#removed++
    // Once for as many removals as there are nodes left, so that shadowed events do not fill the memory.
    if (2 * this.#removed < this.#nodes.length) return
    this.#nodes = this.#nodes.filter(({ isLive }) => isLive)
    this.#removed = 0
  }

  get(seq: number): SurfaceNode | undefined {
    let low = 0
    let high = this.#nodes.length - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      const node = this.#nodes[middle] as SurfaceNode
      if (node.event.seq === seq) return node.isLive ? node : undefined
      if (node.event.seq < seq) low = middle + 1
      else high = middle - 1
    }
    return undefined
  }
}
