// Rows of hand-made logs: each function gives one row without its seq and time, `logOf` numbers them.

/** A row before it is numbered. */
export interface MadeRow {
  readonly type: string
  readonly data: unknown
  readonly [key: string]: unknown
}

type Extra = Readonly<Record<string, unknown>>

/** A user message; appended unless `extra` says otherwise. */
export function user(text: string, extra: Extra = {}, source: Extra = { kind: 'user' }): MadeRow {
  const data = { id: `u-${text}`, role: 'user', content: [{ type: 'text', text }], source }
  return { type: 'user/message', data, surfaceOp: 'append', ...extra }
}

/** An assistant message, as version 0 and, with an empty stream, later versions write it. */
export function assistant(text: string, extra: Extra = {}): MadeRow {
  const source = { kind: 'model', provider: 'p', model: 'm' }
  const message = { id: `a-${text}`, role: 'assistant', content: [{ type: 'text', text }], source }
  return { type: 'assistant/message', data: { turn: 1, step: 1, message, stream: [] }, surfaceOp: 'append', ...extra }
}

/** A tool result in the wrapper of versions 0 to 3. */
export function toolResult(text: string, extra: Extra = {}, change: Extra = {}): MadeRow {
  const block = { type: 'tool-result', toolCallId: 'c1', isError: false, content: [{ type: 'text', text }], ...change }
  const message = { id: 't1', role: 'user', content: [block], source: { kind: 'tool', callId: 'c1' } }
  return { type: 'tool/result', data: { turn: 1, step: 1, message }, surfaceOp: 'append', ...extra }
}

/** A tool result as version 4 writes it. */
export function toolResult4(text: string, extra: Extra = {}, change: Extra = {}): MadeRow {
  const content = [{ type: 'text', text }]
  const message = {
    id: 't1',
    role: 'tool',
    toolCallId: 'c1',
    source: { kind: 'tool', callId: 'c1' },
    content,
    ...change,
  }
  return { type: 'tool/result', data: { turn: 1, step: 1, message }, surfaceOp: 'append', ...extra }
}

/** A system message of version 3 or 4. */
export function system(text: string, extra: Extra = {}): MadeRow {
  const message = {
    id: `s-${text}`,
    role: 'system',
    content: [{ type: 'text', text }],
    source: { kind: 'system-prompt' },
  }
  return { type: 'system/message', data: { turn: 1, step: 1, message }, surfaceOp: 'append', ...extra }
}

/** A developer message of version 4. */
export function developer(blocks: readonly unknown[], headerSeq?: number, extra: Extra = {}): MadeRow {
  const message = { id: 'd1', role: 'developer', content: blocks, source: { kind: 'tool-registry' } }
  const data = { turn: 1, step: 1, message, ...(headerSeq !== undefined && { headerSeq }) }
  return { type: 'developer/message', data, surfaceOp: 'append', ...extra }
}

/** A log-only row. */
export function logOnly(type: string, data: unknown = {}, extra: Extra = {}): MadeRow {
  return { type, data, ...extra }
}

/** `surfaceOp` and sources of a replacement, in the spelling of the version. */
export function replacing(version: number, start: number, end: number, sources: unknown): Extra {
  const surfaceOp = version < 3 ? { op: 'replace', start, end } : { op: 'replace', startSeq: start, endSeq: end }
  return { sourceEventSeqs: sources, surfaceOp }
}

/** A whole log: header and numbered rows, each with its newline. */
export function logOf(version: number, rows: readonly MadeRow[], header: Extra = {}): string {
  const head = {
    type: 'session',
    version,
    id: 'made',
    createdAt: 1000,
    cwd: '/work/app',
    ...(version >= 2 && { isSeeded: false }),
    delegationDepth: 0,
    ...header,
  }
  const numbered = rows.map(({ type, data, surfaceOp, sourceEventSeqs, ...rest }, seq) => ({
    type,
    seq,
    time: 2000 + seq,
    data,
    ...(sourceEventSeqs !== undefined && { sourceEventSeqs }),
    ...(surfaceOp !== undefined && { surfaceOp }),
    ...rest,
  }))
  return [head, ...numbered].map((row) => `${JSON.stringify(row)}\n`).join('')
}
