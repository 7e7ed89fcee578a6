// The wire of the Model Context Protocol on standard input and output: one JSON-RPC message a line, both ways. Which
// messages there are is server.ts; where bytes come from and go to, whoever starts the server.

import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js'

/** Both ends of the wire. */
export interface Wire {
  /** Bytes from the client; ends when the client is gone. */
  readonly input: AsyncIterable<Uint8Array>
  /** Writes a whole line to the client; rejects when nobody reads any more. */
  write(line: string): Promise<void>
}

/**
 * A transport of the SDK over a wire. `ended` settles when the client has said its last and every request is answered, or
 * rejects with what broke the wire: a client that is gone reads no more.
 */
export class WireTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly ended: Promise<void>
  readonly #wire: Wire
  readonly #lines = new ReadBuffer()
  /** Requests without an answer. */
  readonly #pending = new Set<RequestId>()
  #hasEnded = false
  readonly #settle: (failure?: unknown) => void

  constructor(wire: Wire) {
    this.#wire = wire
    let settle: (failure?: unknown) => void = () => undefined
    this.ended = new Promise((resolve, reject) => {
      settle = (failure) => (failure === undefined ? resolve() : reject(failure))
    })
    this.#settle = settle
    // After a failed connection nobody waits for it.
    this.ended.catch(() => undefined)
  }

  async start(): Promise<void> {
    // Not awaited: the connection stands once reading has begun.
    void this.#read().then(() => {
      this.#hasEnded = true
      this.#settleIfIdle()
    }, this.#settle)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    try {
      await this.#wire.write(serializeMessage(message))
      if ('id' in message && message.id !== undefined && !('method' in message)) this.#pending.delete(message.id)
      this.#settleIfIdle()
    } catch (cause) {
      this.#settle(cause)
    }
  }

  async close(): Promise<void> {
    this.#lines.clear()
    this.onclose?.()
  }

  async #read(): Promise<void> {
    for await (const bytes of this.#wire.input) {
      this.#lines.append(Buffer.from(bytes))
      this.#deliver()
    }
  }

  /** A line that is no message of the protocol is reported and passed over: the next one may be. */
  #deliver(): void {
    for (;;) {
      try {
        const message = this.#lines.readMessage()
        if (message === null) return
        this.#note(message)
        this.onmessage?.(message)
      } catch (error) {
        this.onerror?.(error instanceof Error ? error : new Error(String(error)))
      }
    }
  }

  /** A request that is given up gets no answer. */
  #note(message: JSONRPCMessage): void {
    if (!('method' in message)) return
    if ('id' in message) this.#pending.add(message.id)
    else if (message.method === 'notifications/cancelled') this.#pending.delete(message.params?.requestId as RequestId)
  }

  #settleIfIdle(): void {
    if (this.#hasEnded && this.#pending.size === 0) this.#settle()
  }
}
