// Collects issues so that a million defects of one kind stay one issue with a count.

import type { Issue } from '../types.ts'

/** Different messages kept of one kind: a hostile log can make each of its rows odd in a way of its own. */
const MESSAGES_OF_A_KIND = 50

/** Entries that say the same are one with a count; of one kind, no more than a person would read. */
export class CountedList<Entry extends { readonly message: string; readonly count?: number }> {
  readonly #kindOf: (entry: Entry) => string
  readonly #byKey = new Map<string, Entry>()
  readonly #messages = new Map<string, number>()

  constructor(kindOf: (entry: Entry) => string) {
    this.#kindOf = kindOf
  }

  /** Adds an entry, or counts it when the same was met before; the place of the first stays. */
  add(entry: Entry): void {
    const kind = this.#kindOf(entry)
    const message = entry.message.toWellFormed()
    const key = `${kind} ${message}`
    if (this.#count(key, entry)) return
    const messages = (this.#messages.get(kind) ?? 0) + 1
    if (messages <= MESSAGES_OF_A_KIND) {
      this.#messages.set(kind, messages)
      this.#byKey.set(key, { ...entry, message })
    } else if (!this.#count(kind, entry))
      this.#byKey.set(kind, { ...entry, message: `${message}, and more of this kind` })
  }

  /** The entries, in order of first appearance. */
  list(): Entry[] {
    return [...this.#byKey.values()]
  }

  #count(key: string, { count = 1 }: Entry): boolean {
    const known = this.#byKey.get(key)
    if (known) this.#byKey.set(key, { ...known, count: (known.count ?? 1) + count })
    return known !== undefined
  }
}

/** Issues by kind and message, in order of first appearance. */
export class IssueLog {
  readonly #issues = new CountedList<Issue>(({ kind }) => kind)

  constructor(issues: readonly Issue[] = []) {
    for (const issue of issues) this.add(issue)
  }

  /** Adds an issue, or counts it when the same was met before. */
  add(issue: Issue): void {
    this.#issues.add(issue)
  }

  /** The issues, each with its file. */
  list(file: string | undefined): Issue[] {
    return this.#issues.list().map((issue) => (file === undefined ? issue : { ...issue, file }))
  }
}
