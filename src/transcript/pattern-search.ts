// Searches texts for a person's regular expression, in a thread of its own that can be ended: a pattern such as `(a+)+$` can
// take longer than anybody lives, and the thread that runs it hears nothing meanwhile. What a match is, is transcript.ts.

import { Worker } from 'node:worker_threads'
import { cancelled, invalidConfig, throwIfCancelled } from '../errors.ts'
import type { ConversationMessage } from '../types.ts'
import { composedSearch, inStored, matchesIn, searchTranscript, type TranscriptMatch } from './transcript.ts'

/** How a pattern is meant. */
export interface PatternOptions {
  /** The pattern is the text to find, not an expression. */
  readonly isFixed?: boolean
  readonly ignoresCase?: boolean
}

/**
 * The expression of a pattern; whole texts are searched, and `^` and `$` stand for the ends of each line. Throws
 * `INVALID_CONFIG` when it is none.
 */
export function expressionOf(pattern: string, { isFixed = false, ignoresCase = false }: PatternOptions = {}): RegExp {
  const source = isFixed ? pattern.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&') : pattern
  try {
    return new RegExp(source, ignoresCase ? 'gimu' : 'gmu')
  } catch (cause) {
    const { message } = cause as SyntaxError
    throw invalidConfig(`${message}; write a JavaScript regular expression, or use --fixed-strings`, { pattern })
  }
}

/** A source of characters that stand for themselves: it is found in one walk over the text. */
const PLAIN = /^(?:[^\\^$.*+?()[\]{}|]|\\[\\^$.*+?()[\]{}|/])*$/u

/** Characters that go to the thread at once; a longer text goes alone. */
const BATCH_CHARACTERS = 4 * 1024 * 1024

/** Searches any number of conversations for one expression, which has the flag `g`. Dispose of it when all is searched. */
export class PatternSearch implements Disposable {
  readonly #expression: RegExp
  readonly #signal: AbortSignal | undefined
  #worker: Worker | undefined

  /** The thread is started by the first search, and never for an expression that is plain text. */
  constructor(expression: RegExp, { signal }: { readonly signal?: AbortSignal } = {}) {
    this.#expression = expression
    this.#signal = signal
  }

  /** Whether searching takes a thread. */
  get isThreaded(): boolean {
    return !PLAIN.test(this.#expression.source)
  }

  /** The matches in `messages`, in order. Throws `CANCELLED` as soon as the signal fires, whatever the expression does. */
  async search(messages: readonly Pick<ConversationMessage, 'text'>[]): Promise<TranscriptMatch[]> {
    throwIfCancelled(this.#signal)
    if (!this.isThreaded) return [...searchTranscript(messages, this.#expression)]
    const { expression, texts } = composedSearch(messages, this.#expression)
    const matches: TranscriptMatch[] = []
    for (let from = 0; from < texts.length; ) {
      const batch: string[] = []
      let characters = 0
      do {
        const { text } = texts[from + batch.length] as (typeof texts)[number]
        characters += text.length
        batch.push(text)
      } while (characters < BATCH_CHARACTERS && from + batch.length < texts.length)
      const found = await this.#searchInThread(batch, expression)
      for (let at = 0; at < found.length; at += 3) {
        const [message = 0, start = 0, end = 0] = found.subarray(at, at + 3)
        matches.push(inStored({ message: from + message, start, end }, texts))
      }
      from += batch.length
    }
    return matches
  }

  /** Ends the thread, whatever it is doing. */
  [Symbol.dispose](): void {
    this.#worker?.terminate()
    this.#worker = undefined
  }

  #searchInThread(texts: readonly string[], { source, flags }: RegExp): Promise<Uint32Array> {
    const worker = (this.#worker ??= new Worker(THREAD, { eval: true, workerData: { source, flags } }))
    const signal = this.#signal
    return new Promise<Uint32Array>((resolve, reject) => {
      const settle = (settled: () => void) => {
        signal?.removeEventListener('abort', abort)
        worker.off('message', found).off('error', failed).off('exit', abort)
        settled()
      }
      const found = (numbers: Uint32Array) => settle(() => resolve(numbers))
      const failed = (error: Error) => settle(() => reject(error))
      // The thread also exits when the search is disposed of in the middle.
      const abort = () =>
        settle(() => {
          this[Symbol.dispose]()
          reject(cancelled(signal?.reason))
        })
      signal?.addEventListener('abort', abort)
      worker.on('message', found).on('error', failed).on('exit', abort)
      worker.postMessage(texts)
    })
  }
}

/** Written out, so that it needs no file of its own beside the bundle. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads')
const search = ${matchesIn}
const expression = new RegExp(workerData.source, workerData.flags)
parentPort.on('message', (texts) => {
  const found = []
  for (const { message, start, end } of search(texts, expression)) found.push(message, start, end)
  const numbers = Uint32Array.from(found)
  parentPort.postMessage(numbers, [numbers.buffer])
})
`
