// Cuts bytes into rows at 0x0A and nowhere else (FORMAT.md section 3.1). Knows nothing of JSON.

/** Receives rows. Bytes are valid during a call only. */
export interface RowSink {
  /** Called before the rows of a block: bytes `start` to `end` of `bytes` are whole rows, newlines included. */
  block(bytes: Uint8Array, start: number, end: number): void
  /**
   * One complete row: bytes `start` (inclusive) to `end` (exclusive, the newline) of `bytes`, and the offset of its first
   * byte in the plaintext. `bytes[end]` is always the newline.
   */
  row(bytes: Uint8Array, start: number, end: number, offset: number): void
  /** Refuses a row that is longer than this; called as soon as that is known. Throws. */
  refuseRow(limitBytes: number, offset: number): never
}

const NEWLINE = 0x0a

/** A push splitter: any cut of the input gives the same rows. */
export class LineSplitter {
  /** Longest row. May be changed between two rows. */
  maxRowBytes: number
  readonly #sink: RowSink
  /** Pieces of the row that is not complete yet; joined once, because joining per piece is quadratic in a long row. */
  #carried: Uint8Array[] = []
  #carriedBytes = 0
  /** Plaintext offset of the first byte not yet handed on. */
  #offset: number

  constructor(sink: RowSink, maxRowBytes: number, offset = 0) {
    this.#sink = sink
    this.maxRowBytes = maxRowBytes
    this.#offset = offset
  }

  /** Plaintext offset behind the last complete row. */
  get completeBytes(): number {
    return this.#offset
  }

  /** Bytes of the row that has no newline yet. */
  get pendingBytes(): number {
    return this.#carriedBytes
  }

  /** Takes the next bytes; `piece` is not kept. */
  push(piece: Uint8Array): void {
    let start = 0
    if (this.#carriedBytes > 0) {
      const end = piece.indexOf(NEWLINE)
      if (end === -1) {
        this.#carry(piece, 0)
        return
      }
      this.#carry(piece.subarray(0, end + 1), 0)
      const row = Buffer.concat(this.#carried, this.#carriedBytes)
      this.#carried = []
      this.#carriedBytes = 0
      this.#sink.block(row, 0, row.length)
      this.#emit(row, 0, row.length - 1)
      start = end + 1
    }
    const last = piece.lastIndexOf(NEWLINE)
    if (last >= start) this.#sink.block(piece, start, last + 1)
    for (let end = piece.indexOf(NEWLINE, start); end !== -1; end = piece.indexOf(NEWLINE, start)) {
      this.#emit(piece, start, end)
      start = end + 1
    }
    if (start < piece.length) this.#carry(piece, start)
  }

  #emit(bytes: Uint8Array, start: number, end: number): void {
    const offset = this.#offset
    // However the bytes were cut: a row in one piece is measured like one in many.
    if (end - start > this.maxRowBytes) this.#sink.refuseRow(this.maxRowBytes, offset)
    this.#offset += end + 1 - start
    this.#sink.row(bytes, start, end, offset)
  }

  #carry(piece: Uint8Array, start: number): void {
    // Not `piece.slice`: on a Buffer that is a view, and the caller reuses its buffer.
    const rest = Uint8Array.prototype.slice.call(piece, start)
    this.#carried.push(rest)
    this.#carriedBytes += rest.length
    // Its newline may be the last byte carried.
    if (this.#carriedBytes > this.maxRowBytes + 1) this.#sink.refuseRow(this.maxRowBytes, this.#offset)
  }
}
