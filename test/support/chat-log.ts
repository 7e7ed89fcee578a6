// Small logs of version 0 written by hand: who said what, and what a compaction put in its place.

/** One event: a message, or a checkpoint that takes the place of the surface from one seq to another. */
export type ChatStep =
  | { readonly user: string }
  | { readonly assistant: string }
  | { readonly tool: string }
  | { readonly title: string }
  | { readonly checkpoint: string; readonly from: number; readonly to: number; readonly sources: readonly number[] }

/** The rows of a log; the seq of a step is its index. */
export function chatLog(id: string, steps: readonly ChatStep[], cwd = '/work/app'): string {
  const header = { type: 'session', version: 0, id, createdAt: 1000, cwd, delegationDepth: 0 }
  return [header, ...steps.map(rowOf)].map((row) => `${JSON.stringify(row)}\n`).join('')
}

function rowOf(step: ChatStep, seq: number): object {
  const row = { seq, time: 2000 + seq }
  const content = (text: string) => [{ type: 'text', text }]
  const id = `m${seq}`
  if ('title' in step) {
    return { ...row, type: 'session/title', data: { title: step.title, messageSeqs: [], source: { kind: 'user' } } }
  }
  if ('assistant' in step) {
    const source = { kind: 'model', provider: 'example', model: 'example-1' }
    const message = { id, role: 'assistant', content: content(step.assistant), source }
    return { ...row, type: 'assistant/message', data: { turn: 1, step: 1, message }, surfaceOp: 'append' }
  }
  if ('tool' in step) {
    const result = { type: 'tool-result', toolCallId: 'c1', isError: false, content: content(step.tool) }
    const message = { id, role: 'user', content: [result], source: { kind: 'tool', callId: 'c1' } }
    return { ...row, type: 'tool/result', data: { turn: 1, step: 1, message }, surfaceOp: 'append' }
  }
  if ('user' in step) {
    const data = { id, role: 'user', content: content(step.user), source: { kind: 'user' } }
    return { ...row, type: 'user/message', data, surfaceOp: 'append' }
  }
  const source = { kind: 'plugin', plugin: 'compact', compactionId: 'k1' }
  return {
    ...row,
    type: 'user/message',
    data: { id, role: 'user', content: content(step.checkpoint), source },
    sourceEventSeqs: step.sources,
    surfaceOp: { op: 'replace', start: step.from, end: step.to },
  }
}
