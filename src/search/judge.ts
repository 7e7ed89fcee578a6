// Whether a session has what is looked for, by its names and by its texts. How texts are scanned is lines.ts.

import { type BlockSource, messagesIn, shadowingsIn } from './block-sources.ts'
import { Block, type MessageFilter } from './blocks.ts'
import { isScannable, Scan, Tally, tallyOf } from './lines.ts'
import type { SearchMessage } from './messages.ts'
import { isFound, type Query, searchedForm } from './query.ts'

/** What of a session can be named by a query besides what was said. */
export type NamedBy = 'title' | 'id' | 'cwd'

/** What a session has of what is looked for. */
export interface Result {
  readonly namedBy: readonly NamedBy[]
  readonly isNamed: boolean
  readonly closeness: number
  readonly lines: number
}

/** What a query finds in the names of a session. */
export interface Names {
  readonly namedBy: readonly NamedBy[]
  /** Terms that occur in any of them, as bits. */
  readonly terms: number
}

const NO_NAMES: Names = { namedBy: [], terms: 0 }

/** Judges sessions by one query. */
export class Judge {
  readonly #query: Query
  readonly #filter: MessageFilter
  readonly #allTerms: number
  /** For literal queries. */
  readonly #scan: Scan | undefined
  readonly #isScannable: boolean

  constructor(query: Query, filter: MessageFilter) {
    this.#query = query
    this.#filter = filter
    this.#allTerms = 2 ** query.terms.length - 1
    this.#isScannable = isScannable(query)
    this.#scan = query.isRegex ? undefined : new Scan(query)
  }

  /** By names and by texts that are in blocks; `undefined` when a term is missing. Throws `PackDamaged`. */
  ofBlocks(names: Names, blocks: readonly BlockSource[]): Result | undefined {
    if (this.#scan) {
      let terms = names.terms
      // Every block, also when no more is missing: none is trusted before its checksum.
      for (const block of blocks) terms = this.#scan.mayHold(new Block(block.scanned()), terms, blocks.length === 1)
      if (terms !== this.#allTerms) return undefined
    }
    if (!this.#isScannable) return this.ofMessages(names, messagesIn(blocks))
    const tally = new Tally()
    const isFiltered = this.#filter.role !== undefined || this.#filter.isCurrent === true
    const shadowings = isFiltered ? shadowingsIn(blocks) : undefined
    for (const source of blocks) {
      const block = new Block(source.scanned())
      this.#scan?.count(block, tally, shadowings && block.wanted(this.#filter, shadowings))
    }
    return this.#judged(names, tally)
  }

  /** By names and by messages. */
  ofMessages(names: Names, messages: Iterable<SearchMessage>): Result | undefined {
    return this.#judged(names, tallyOf(messages, this.#query, this.#filter))
  }

  /** By names alone. */
  ofNames(names: Names): Result | undefined {
    return this.#judged(names, new Tally())
  }

  /** What the names of a session hold; when only one role counts, they do not. */
  namesOf({ title, id, cwd }: Readonly<Record<NamedBy, string | undefined>>): Names {
    if (this.#filter.role !== undefined) return NO_NAMES
    let terms = 0
    const namedBy: NamedBy[] = []
    for (const [name, text] of [
      ['title', title],
      ['id', id],
      ['cwd', cwd],
    ] as const) {
      const held = text === undefined ? 0 : this.termsIn(text.toWellFormed())
      if (held !== 0) namedBy.push(name)
      terms |= held
    }
    return { namedBy, terms }
  }

  /** Terms that occur in a text, as bits. */
  termsIn(text: string): number {
    const searched = searchedForm(text, this.#query)
    let terms = 0
    for (const [index, expression] of this.#query.expressions.entries()) {
      if (isFound(expression, searched, this.#query)) terms |= 1 << index
    }
    return terms
  }

  #judged(names: Names, tally: Tally): Result | undefined {
    const { namedBy, terms } = names
    if ((terms | tally.found) !== this.#allTerms) return undefined
    const isSingle = this.#query.terms.length === 1
    const closeness = tally.hasPhrase || (isSingle && tally.lines > 0) ? 2 : tally.hasWholeLine ? 1 : 0
    return { namedBy, isNamed: terms === this.#allTerms, closeness, lines: tally.lines }
  }
}
