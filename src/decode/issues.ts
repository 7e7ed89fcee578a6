// Collects issues so that a million defects of one kind stay one issue with a count.

import type { Issue } from '../types.ts'

/** Issues by kind and message, in order of first appearance. */
export class IssueLog {
  readonly #byKey = new Map<string, Issue>()

  constructor(issues: readonly Issue[] = []) {
    for (const issue of issues) this.add(issue)
  }

  /** Adds an issue, or counts it when the same was met before. */
  add(issue: Issue): void {
    const key = `${issue.kind} ${issue.message}`
    const known = this.#byKey.get(key)
    this.#byKey.set(key, known ? { ...known, count: (known.count ?? 1) + (issue.count ?? 1) } : issue)
  }

  /** The issues, each with its file. */
  list(file: string | undefined): Issue[] {
    return [...this.#byKey.values()].map((issue) => (file === undefined ? issue : { ...issue, file }))
  }
}
