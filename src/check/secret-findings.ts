// Secrets of a log as findings of a check: which kinds are in which event. What a secret is, is ../secrets/.

import type { SecretScan } from '../secrets/scan.ts'
import type { Finding } from '../types.ts'

/** Findings with a place of their own; from there on one for each kind has the count of the rest. */
const MAX_FINDINGS = 1000

/** Secrets of one log by event and kind: never their value, its length or what stands around it. */
export class SecretFindings {
  readonly #file: string
  readonly #scan: SecretScan
  readonly #findings: Finding[] = []
  readonly #more = new Map<string, Finding>()

  constructor(file: string, scan: SecretScan) {
    this.#file = file
    this.#scan = scan
  }

  /** Looks through a whole text; throws `SCAN_FAILED`. */
  look(text: string, place: { readonly seq: number } | { readonly line: number }, what: string): void {
    for (const [kind, count = 0] of Object.entries(this.#scan.countsIn(text))) {
      const message = `${what} holds a secret: ${kind}`
      const finding = { severity: 'issue', rule: 'secret', message, file: this.#file, ...place, kind } as const
      if (this.#findings.length < MAX_FINDINGS) {
        this.#findings.push(count === 1 ? finding : { ...finding, count })
        continue
      }
      const { count: earlier = 0 } = this.#more.get(kind) ?? {}
      const first = this.#more.get(kind) ?? { ...finding, message: `${message}, and so do later events` }
      this.#more.set(kind, { ...first, count: earlier + count })
    }
  }

  list(): Finding[] {
    return [...this.#findings, ...this.#more.values()]
  }
}

/** Makes an empty list for one log; the scan is loaded with it. */
export async function makeSecretFindings(file: string): Promise<SecretFindings> {
  const { SecretScan } = await import('../secrets/scan.ts')
  return new SecretFindings(file, new SecretScan())
}
