// Makes logs: valid ones of every version from a seed, other spellings of the same log, and damaged ones. A made log says
// itself what a reader must find in it.

export type MadeVersion = 0 | 1 | 2 | 3 | 4

export interface LogShape {
  readonly version: MadeVersion
  readonly id?: string
  /** `null` leaves the header without one. */
  readonly cwd?: string | null
  readonly turns?: number
  readonly compactions?: number
  /** Tool results whose content a later event replaces. */
  readonly rewrites?: number
  readonly titles?: number
  /** Versions 0 and 1: runs of chunks share a row. */
  readonly packed?: boolean
  /** Long runs of cited seqs are written as pairs. */
  readonly ranges?: boolean
  /** A fork: the first half of the turns is inherited. */
  readonly seeded?: boolean
  /** Version 0: messages in the shapes of its first builds. */
  readonly legacy?: boolean
  /** The last turn has no end. */
  readonly openTurn?: boolean
  /** Words in a long text. */
  readonly words?: number
}

export interface MadeMessage {
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly checkpoint: boolean
}

export interface MadeReplacement {
  readonly seq: number
  readonly start: number
  readonly end: number
  readonly shadowedSeqs: readonly number[]
}

export interface MadeLog {
  readonly header: JsonObject
  /** The stored rows after the header, packed rows included. */
  readonly rows: readonly JsonObject[]
  /** What a reader must find. */
  readonly events: number
  readonly nodes: readonly number[]
  readonly replacements: readonly MadeReplacement[]
  readonly conversation: readonly MadeMessage[]
  readonly title: string | null
  /** The whole file. */
  text(): Buffer
  /** The plaintexts of the frames a zstd file of this log would have: the header alone, then some rows each. */
  frames(): Buffer[]
}

type JsonObject = Record<string, unknown>

interface SurfaceNode {
  readonly seq: number
  readonly type: string
  /** The event's `data` as stored. */
  readonly data: JsonObject
  readonly message: MadeMessage | undefined
}

/** The same seed and shape give the same log. */
export function makeLog(seed: number, shape: LogShape): MadeLog {
  return new Maker(seed, shape).make()
}

/** A shape that differs from seed to seed, so that many seeds meet every option. */
export function randomShape(seed: number, version: MadeVersion): LogShape {
  const random = new Random(seed ^ 0x5eed)
  return {
    version,
    id: random.pick(['s-1', 'sub/agent:1', '会话 🚀', 'a"b\\c', '\ud800']),
    cwd: random.pick([null, '/work/app', '/home/用户/proj x', 'C:\\work']),
    turns: random.below(7),
    compactions: random.below(4),
    rewrites: random.below(4),
    titles: random.below(4),
    packed: random.chance(0.7),
    ranges: random.chance(0.7),
    seeded: random.chance(0.3),
    legacy: random.chance(0.3),
    openTurn: random.chance(0.3),
    words: 1 + random.below(60),
  }
}

class Maker {
  readonly #random: Random
  readonly #shape: Required<LogShape>
  readonly #rows: JsonObject[] = []
  readonly #replacements: MadeReplacement[] = []
  #nodes: SurfaceNode[] = []
  #title: string | null = null
  #seq = 0
  #time = 1_783_600_000_000
  #turn = 0
  #step = 0
  #seedLength: number | undefined
  #tools: string[] = ['bash', 'read']
  #headerSeq = 0

  constructor(seed: number, shape: LogShape) {
    this.#random = new Random(seed)
    this.#shape = {
      id: `made-${seed}`,
      cwd: '/work/demo',
      turns: 2,
      compactions: 0,
      rewrites: 0,
      titles: 1,
      packed: true,
      ranges: shape.version >= 1,
      seeded: false,
      legacy: false,
      openTurn: false,
      words: 12,
      ...shape,
    }
  }

  make(): MadeLog {
    const { turns, compactions, rewrites, titles, seeded } = this.#shape
    const due = { compactions, rewrites, titles }
    const cut = Math.floor(turns / 2)
    for (let turn = 0; turn < turns; turn++) {
      if (seeded && turn === cut) this.#endSeed()
      this.#makeTurn(turn === turns - 1)
      const left = turns - turn
      while (due.titles > 0 && this.#random.chance(due.titles / left)) due.titles -= this.#makeTitle()
      while (due.rewrites > 0 && this.#random.chance(due.rewrites / left)) due.rewrites -= this.#rewriteToolResult()
      while (due.compactions > 0 && this.#random.chance(due.compactions / left)) due.compactions -= this.#compact()
    }
    if (seeded && this.#seedLength === undefined) this.#endSeed()
    return this.#result()
  }

  #result(): MadeLog {
    const header = this.#header()
    const rows = this.#rows
    const line = (row: JsonObject): string => `${JSON.stringify(row)}\n`
    return {
      header,
      rows,
      events: this.#seq,
      nodes: this.#nodes.map(({ seq }) => seq),
      replacements: this.#replacements,
      conversation: this.#nodes.flatMap(({ message }) => (message === undefined || message.text === '' ? [] : message)),
      title: this.#title,
      text: () => Buffer.from(line(header) + rows.map(line).join('')),
      frames: () => {
        const random = new Random(rows.length)
        const frames = [line(header)]
        for (const row of rows) {
          if (frames.length === 1 || random.chance(0.2)) frames.push('')
          frames[frames.length - 1] += line(row)
        }
        return frames.map((text) => Buffer.from(text))
      },
    }
  }

  #header(): JsonObject {
    const { version, id, cwd, seeded } = this.#shape
    const isSubagent = seeded && this.#random.chance(0.5)
    return {
      type: 'session',
      version,
      id,
      createdAt: 1_783_600_000_000,
      ...(cwd !== null && { cwd }),
      ...(seeded && { parentSession: 'parent-1' }),
      ...(version >= 2 ? { isSeeded: seeded } : seeded && { seedLength: this.#seedLength }),
      ...(isSubagent && { origin: 'subagent' }),
      delegationDepth: isSubagent ? 1 : 0,
      ...(this.#random.chance(0.3) && { agentPreset: version >= 3 ? 'ptc' : 'code' }),
    }
  }

  // Rows.

  /** Writes one event and returns its seq. Keys stand in the order of the real writer. */
  #emit(type: string, data: unknown, surface: JsonObject = {}): number {
    this.#time += this.#random.below(40)
    this.#rows.push({ type, seq: this.#seq, time: this.#time, data, ...surface })
    return this.#seq++
  }

  #append(type: string, data: JsonObject, message?: MadeMessage, sources?: readonly number[]): void {
    const surface = { ...(sources && { sourceEventSeqs: this.#encodeSources(sources) }), surfaceOp: 'append' }
    this.#nodes.push({ seq: this.#emit(type, data, surface), type: surfaceTypeOf(type), data, message })
  }

  /** Replaces the nodes from one position to another; cites them and whatever else led to the replacement. */
  #replace(
    type: string,
    data: JsonObject,
    message: MadeMessage | undefined,
    [from, to]: readonly [number, number],
    alsoCited: readonly number[] = [],
  ): void {
    const shadowedSeqs = this.#nodes.slice(from, to + 1).map(({ seq }) => seq)
    const start = shadowedSeqs[0] as number
    const end = shadowedSeqs.at(-1) as number
    const isOld = this.#shape.version <= 2
    const seq = this.#emit(type, data, {
      sourceEventSeqs: this.#encodeSources([...alsoCited, ...shadowedSeqs]),
      surfaceOp: isOld ? { op: 'replace', start, end } : { op: 'replace', startSeq: start, endSeq: end },
    })
    const node = { seq, type: surfaceTypeOf(type), data, message }
    this.#nodes = [...this.#nodes.slice(0, from), node, ...this.#nodes.slice(to + 1)]
    this.#replacements.push({ seq, start, end, shadowedSeqs })
  }

  /** Runs of three and more become pairs, but only in a list that rises throughout. */
  #encodeSources(sources: readonly number[]): unknown[] {
    const isRising = sources.every((seq, index) => index === 0 || seq > (sources[index - 1] as number))
    if (!this.#shape.ranges || !isRising) return [...sources]
    const encoded: unknown[] = []
    for (let at = 0; at < sources.length; ) {
      let next = at + 1
      while (next < sources.length && sources[next] === (sources[next - 1] as number) + 1) next++
      const run = sources.slice(at, next)
      if (run.length >= 3) encoded.push([run[0], run.at(-1)])
      else encoded.push(...run)
      at = next
    }
    return encoded
  }

  // Turns.

  #makeTurn(isLast: boolean): void {
    const random = this.#random
    this.#turn++
    this.#step = 0
    const text = this.#text()
    const user = this.#message('user', [...this.#textBlocks(text), ...this.#images()], { kind: 'user' })
    this.#emit('agent/inbox/spliced', { target: 'next-turn', start: 0, inserted: [user] })
    this.#emit('turn/start', {
      turn: this.#turn,
      ...(this.#shape.legacy && random.chance(0.3) && { trigger: { kind: 'user' } }),
    })
    this.#emit('agent/inbox/spliced', { target: 'next-turn', start: 0, removedCount: 1, inserted: [] })
    for (let steps = 1 + random.below(3); steps > 0; steps--) {
      this.#makeStep(this.#step === 0 ? user : undefined, isLast && steps === 1)
    }
    if (isLast && this.#shape.openTurn) return
    this.#emit('turn/end', { turn: this.#turn, reason: this.#endReason() })
    if (random.chance(0.1)) this.#emit('session/end-seed', {})
  }

  #endReason(): unknown {
    if (this.#shape.legacy && this.#random.chance(0.3)) return this.#random.pick(['aborted', 'disposed'])
    return this.#random.pick([
      { kind: 'completed' },
      { kind: 'aborted', reason: { kind: 'user' } },
      { kind: 'error', error: { message: 'no answer', code: 'UNKNOWN' } },
    ])
  }

  #makeStep(user: JsonObject | undefined, isLast: boolean): void {
    const random = this.#random
    const { version } = this.#shape
    this.#step++
    this.#emit('step/start', { turn: this.#turn, step: this.#step })
    if (version >= 3) this.#systemPrompt()
    if (user !== undefined) this.#userMessages(user)
    if (this.#step === 1 || random.chance(0.2)) this.#requestHeader()
    if (random.chance(0.3)) this.#logOnly()
    const calls = random.chance(0.5) ? 1 + random.below(2) : 0
    const callIds = this.#assistant(calls)
    for (const callId of callIds) {
      if (isLast && this.#shape.openTurn && random.chance(0.5)) return
      this.#toolResult(callId)
    }
    if (version <= 1 && random.chance(0.1)) this.#assistantEdit()
    if (isLast && this.#shape.openTurn) return
    this.#emit('step/end', { turn: this.#turn, step: this.#step })
  }

  #userMessages(user: JsonObject): void {
    const text = textOf(user)
    const random = this.#random
    if (this.#turn === 1 && random.chance(0.8)) {
      const context = this.#message('user', this.#textBlocks(this.#text()), this.#source('runtime-context'))
      this.#append('user/message', context)
    }
    const legacy = this.#shape.version === 0 && this.#shape.legacy ? random.below(4) : 3
    const { content, source } = user
    const projected: MadeMessage = { role: 'user', text, checkpoint: false }
    if (legacy === 0) this.#append('user/message', { content, source }, projected)
    else if (legacy === 1) this.#append('steering/message', { turn: this.#turn, content, source }, projected)
    else if (legacy === 2) this.#append('steering/message', { turn: this.#turn, message: user }, projected)
    else this.#append('user/message', user, projected)

    if (random.chance(0.15)) {
      const edited = this.#text()
      const message = this.#message('user', this.#textBlocks(edited), { kind: 'user' })
      const at = this.#nodes.length - 1
      this.#replace('user/message', message, { role: 'user', text: edited, checkpoint: false }, [at, at])
    }
  }

  /** From version 3 on the prompt is a node, and the head of the surface is replaced by nothing but a new prompt. */
  #systemPrompt(): void {
    const head = this.#nodes[0]
    const isFirst = this.#turn === 1 && this.#step === 1
    const isChange = head?.type === 'system/message' && this.#random.chance(0.15)
    if (!(isFirst && this.#random.chance(0.9)) && !isChange) return
    const content = this.#random.chance(0.2) ? [] : [{ type: 'text', text: this.#text() }]
    const message = this.#message('system', content, this.#source('system-prompt'))
    const data = { turn: this.#turn, step: this.#step, message }
    if (head === undefined) this.#append('system/message', data)
    else if (isChange) this.#replace('system/message', data, undefined, [0, 0])
  }

  #requestHeader(): void {
    const { version } = this.#shape
    const isNewTool = version >= 4 && this.#turn > 1 && this.#random.chance(0.4)
    const tool = `ping_${this.#random.below(1000)}`
    const adds = isNewTool && !this.#tools.includes(tool)
    if (adds) this.#tools.push(tool)
    const removed = !adds && isNewTool && this.#tools.length > 1 ? this.#tools.pop() : undefined

    const tools = this.#tools.map((name) => ({ name, description: 'does it', parameters: { type: 'object' } }))
    const system = version <= 2 && { system: this.#text() }
    const header = { config: { provider: 'mock', model: 'mock-1' }, ...system, tools }
    this.#headerSeq = this.#emit('request/header', { header, reason: this.#turn === 1 ? 'initial' : 'change' })
    const contextWindow = this.#random.pick([undefined, 11_600, 128_000, 1_000_000])
    this.#emit('request/context', { provider: 'mock', model: 'mock-1', ...(contextWindow && { contextWindow }) })
    if (adds) this.#developer([{ type: 'tool-addition', toolName: tool }], { headerSeq: this.#headerSeq })
    if (removed !== undefined) this.#developer([{ type: 'tool-removal', toolName: removed }], {})
  }

  #developer(content: readonly JsonObject[], rest: JsonObject): void {
    const message = this.#message('developer', content, { kind: 'tool-registry' })
    this.#append('developer/message', { turn: this.#turn, step: this.#step, message, ...rest })
  }

  /** Returns the ids of the tool calls it holds. */
  #assistant(calls: number): string[] {
    const random = this.#random
    const { version } = this.#shape
    const callIds = Array.from({ length: calls }, () => `call_${this.#id().slice(0, 8)}`)
    const text = calls > 0 && random.chance(0.5) ? '' : this.#text()
    const content: JsonObject[] = [
      ...(random.chance(0.4) ? [{ type: 'reasoning', text: this.#text() }] : []),
      ...(text === '' ? [] : this.#textBlocks(text)),
      ...callIds.map((id) => ({ type: 'tool-call', id, name: 'bash', arguments: JSON.stringify({ command: 'ls' }) })),
    ]
    const usage = random.chance(0.7) && { usage: { inputTokens: random.below(9999), outputTokens: random.below(99) } }
    const interrupted = random.chance(0.1) && { interrupted: true }
    const projected: MadeMessage = { role: 'assistant', text, checkpoint: false }
    const turn = { turn: this.#turn, step: this.#step }

    if (version >= 2) {
      if (random.chance(0.1)) this.#emit('assistant/attempt', { ...turn, stream: this.#stream(content) })
      const message = this.#message('assistant', content, this.#model())
      const stream = random.chance(0.3) ? [] : this.#stream(content)
      this.#append('assistant/message', { ...turn, message, ...usage, ...interrupted, stream }, projected)
      return callIds
    }

    const sources = random.chance(0.8) ? this.#chunks(content) : random.pick([undefined, []])
    if (version === 0 && this.#shape.legacy && random.chance(0.4)) {
      const { kind: _kind, ...provenance } = this.#model()
      this.#append('assistant/message', { ...turn, content, provenance, ...usage }, projected, sources)
    } else {
      const message = this.#message('assistant', content, this.#model())
      this.#append('assistant/message', { ...turn, message, ...usage, ...interrupted }, projected, sources)
    }
    return callIds
  }

  /** Up to version 1 an assistant message may cite, and therefore replace. */
  #assistantEdit(): void {
    const at = this.#nodes.length - 1
    const text = this.#text()
    const message = this.#message('assistant', this.#textBlocks(text), this.#model())
    const data = { turn: this.#turn, step: this.#step, message }
    this.#replace('assistant/message', data, { role: 'assistant', text, checkpoint: false }, [at, at])
  }

  /** Writes the chunks of a message and returns their seqs. */
  #chunks(content: readonly JsonObject[]): number[] {
    const first = this.#seq
    const at = { turn: this.#turn, step: this.#step }
    const emit = (chunk: JsonObject): void => void this.#emit('assistant/chunk', { ...at, chunk })
    content.forEach((block, index) => {
      const run = deltasOf(block)
      emit({ type: 'block-start', index, blockType: block.type })
      const deltas = this.#random.split(run.text)
      if (this.#shape.packed && deltas.length >= 3) {
        const dt = deltas.slice(1).map(() => this.#random.below(30) - 2)
        const data = { ...at, index, ...run.ids, dt, [run.payload]: deltas }
        this.#rows.push({ type: run.packedType, seq0: this.#seq, time0: this.#time, data })
        this.#seq += deltas.length
      } else {
        for (const delta of deltas) emit({ type: run.chunkType, index, ...run.ids, [run.delta]: delta })
      }
      emit({ type: 'block-end', index, block })
    })
    emit({ type: 'usage', usage: { inputTokens: 3, outputTokens: 3 } })
    emit({ type: 'finish', reason: { kind: 'stop' } })
    return Array.from({ length: this.#seq - first }, (_, member) => first + member)
  }

  #stream(content: readonly JsonObject[]): JsonObject[] {
    const time = this.#time
    const records: JsonObject[] = []
    content.forEach((block, index) => {
      const run = deltasOf(block)
      const deltas = this.#random.split(run.text)
      records.push({ type: 'chunk', time, chunk: { type: 'block-start', index, blockType: block.type } })
      const dt = deltas.slice(1).map(() => this.#random.below(30))
      if (deltas.length > 0)
        records.push({ type: run.packedType, time0: time, index, dt, ...run.ids, [run.payload]: deltas })
      records.push({ type: 'chunk', time, chunk: { type: 'block-end', index, block } })
    })
    return records
  }

  #toolResult(callId: string): void {
    const random = this.#random
    const at = { turn: this.#turn, step: this.#step }
    const call = this.#emit('tool/call', { ...at, callId, name: 'bash', arguments: '{"command":"ls"}' })
    if (random.chance(0.2)) this.#logOnly()
    const content = [{ type: 'text', text: this.#text() }, ...this.#images()]
    const isError = random.chance(0.2)
    const error = isError && random.chance(0.5) && { error: { name: 'ToolError', code: 'FAILED' } }
    const meta = random.chance(0.3) && { meta: { path: 'a.txt', lines: [1, 2] } }
    const source = { kind: 'tool', callId }
    const sources = random.chance(0.8) ? [call] : undefined

    if (this.#shape.version === 0 && this.#shape.legacy && random.chance(0.5)) {
      this.#append('tool/result', { ...at, callId, content, isError }, undefined, sources)
    } else if (this.#shape.version >= 4) {
      const flag = (isError || random.chance(0.5)) && { isError }
      const message = { role: 'tool', source, toolCallId: callId, content, ...flag, id: this.#id() }
      this.#append('tool/result', { ...at, message, ...error, ...meta }, undefined, sources)
    } else {
      const wrapper = { type: 'tool-result', toolCallId: callId, content, isError }
      const message = { source, content: [wrapper], role: 'user', id: this.#id() }
      this.#append('tool/result', { ...at, message, ...error, ...meta }, undefined, sources)
    }
  }

  /** Any event that leaves surface and title alone. */
  #logOnly(): void {
    const { version } = this.#shape
    const at = { turn: this.#turn, step: this.#step }
    const user = this.#nodes.find(({ type }) => type === 'user/message')
    const dispatch = version >= 3 ? 'tool/ptc-dispatch' : 'tool/code-dispatch'
    const candidates: [string, unknown, JsonObject?][] = [
      ['permission/preset', { preset: 'danger-full-access' }],
      ['sandbox/mode', { mode: 'workspace-write' }],
      ['approval/policy', { policy: 'never' }],
      ['hook/invoked', { turn: this.#turn, point: 'PreToolUse', handlerId: 'h:1' }],
      ['todo/write', { todos: [{ text: this.#text(), status: 'pending' }] }],
      ['llm/retry', { retryId: 'r1', ...at, delayMs: 1.5, failure: { message: this.#text(), status: 429 } }],
      ['command/run', { name: 'compact', text: '{"type":"turn/end","seq":0}' }],
      [dispatch, { ...at, dispatchId: 'd1' }],
      // Keys of an envelope below the envelope mean nothing.
      [
        'command/done',
        { type: 'turn/end', seq: 0, surfaceOp: 'append', sourceEventSeqs: [0], data: { ignorable: false } },
      ],
      ['vendor/metric', this.#random.pick([null, 0, 'x', [], { a: [{}] }]), { ignorable: true }],
    ]
    if (version >= 2) candidates.push(['vendor/opaque', {}, { ignorable: true, surfaceOp: null, sourceEventSeqs: 7 }])
    if (version >= 3) candidates.push(['workspace/changes', { files: [] }])
    if (version >= 3 && user) {
      candidates.push(['image/offload', { targets: [{ seq: user.seq, imageIndexes: [0] }] }])
    }
    if (version >= 4) candidates.push(['working-directory/change', { cwd: '/elsewhere' }])
    this.#emit(...this.#random.pick(candidates))
  }

  // What comes between turns. Each returns how many it made, so that a log without a victim still ends.

  #makeTitle(): number {
    const cited = this.#nodes.filter(({ type }) => type === 'user/message').map(({ seq }) => seq)
    this.#title = this.#random.chance(0.1) ? '' : this.#text().slice(0, 40)
    const source = this.#random.pick([
      { kind: 'fallback' },
      { kind: 'user' },
      { kind: 'provider', provider: 'title-1', model: { provider: 'mock', model: 'mock-1' } },
    ])
    this.#emit('session/title', { title: this.#title, messageSeqs: source.kind === 'user' ? [] : cited, source })
    return 1
  }

  #rewriteToolResult(): number {
    const places = this.#nodes.flatMap(({ type }, at) => (type === 'tool/result' ? [at] : []))
    if (places.length === 0) return 1
    const at = this.#random.pick(places)
    const data = structuredClone((this.#nodes[at] as SurfaceNode).data)
    const pruned = [{ type: 'text', text: this.#random.pick(['[pruned]', '', this.#text()]) }]
    const message = data.message as JsonObject | undefined
    if (message === undefined) data.content = pruned
    else if (message.role === 'tool') message.content = pruned
    else (message.content as JsonObject[])[0] = { ...(message.content as JsonObject[])[0], content: pruned }
    this.#replace('tool/result', data, undefined, [at, at])
    return 1
  }

  #compact(): number {
    const random = this.#random
    const first = this.#nodes[0]?.type === 'system/message' ? 1 : 0
    if (this.#nodes.length <= first) return 1
    const from = first + random.below(random.chance(0.6) ? 1 : this.#nodes.length - first)
    const to = from + random.below(this.#nodes.length - from)
    const shadowed = this.#nodes.slice(from, to + 1).map(({ seq }) => seq)
    const prefix = this.#shape.version === 0 && this.#shape.legacy ? 'compact' : 'compaction'
    const compactionId = this.#id()

    const start = this.#emit(`${prefix}/start`, { compactionId, turn: this.#turn })
    const summary = this.#text()
    const summarySeq = this.#emit(`${prefix}/summary`, {
      compactionId,
      summary: [{ type: 'text', text: summary }],
      shadowedRange: { start: shadowed[0], end: shadowed.at(-1) },
      shadowedSeqs: shadowed,
      shadowedTokenCount: 4,
      provider: 'mock',
      model: 'mock-1',
    })
    const texts = ['<compacted-summary>', summary, '</compacted-summary>']
    const source = { ...this.#source('compact'), compactionId }
    const content = texts.map((text) => ({ type: 'text', text }))
    const message = this.#message('user', content, source)
    const projected: MadeMessage = { role: 'user', text: texts.join('\n'), checkpoint: true }
    this.#replace('user/message', message, projected, [from, to], [start, summarySeq])
    this.#emit(`${prefix}/end`, { compactionId, turn: this.#turn })
    return 1
  }

  #endSeed(): void {
    this.#seedLength = this.#seq
    this.#emit('session/end-seed', this.#shape.version >= 2 ? { inherited: true } : {})
  }

  // Parts of messages.

  #message(role: string, content: readonly JsonObject[], source: JsonObject): JsonObject {
    return { content, source, role, id: this.#id() }
  }

  /** A producer under the name it has in this version. */
  #source(producer: 'compact' | 'system-prompt' | 'runtime-context'): JsonObject {
    if (this.#shape.version >= 4) return { kind: producer === 'compact' ? 'compact-checkpoint' : producer }
    return { kind: 'plugin', plugin: producer === 'compact' ? 'compact' : '@deepseek-ai/dsh-system-prompt' }
  }

  #model(): JsonObject {
    return { kind: 'model', provider: 'mock', model: 'mock-1' }
  }

  #id(): string {
    const digits = Array.from({ length: 4 }, () => this.#random.below(0x10000).toString(16).padStart(4, '0'))
    return `${digits[0]}${digits[1]}-${digits[2]}-${digits[3]}`
  }

  #text(): string {
    return this.#random.text(1 + this.#random.below(this.#shape.words))
  }

  /** Blocks whose texts, joined by newlines, are the text. */
  #textBlocks(text: string): JsonObject[] {
    const texts = this.#random.chance(0.3) ? text.split('\n') : [text]
    return texts.map((part) => ({ type: 'text', text: part }))
  }

  #images(): JsonObject[] {
    if (!this.#random.chance(0.1)) return []
    return [{ type: 'image', attachment: { attachmentId: 'sha256:00', mediaType: 'image/png', width: 1, height: 1 } }]
  }
}

function surfaceTypeOf(type: string): string {
  return type === 'steering/message' ? 'user/message' : type
}

function textOf(message: JsonObject): string {
  const blocks = (message.content as JsonObject[]).filter(({ type }) => type === 'text')
  return blocks.map(({ text }) => text).join('\n')
}

/** How the text of a block is written in pieces. */
function deltasOf(block: JsonObject) {
  if (block.type === 'tool-call') {
    const ids = { id: block.id, name: block.name }
    const names = { packedType: 'tool-call-chunks', chunkType: 'tool-call-delta', payload: 'args' } as const
    return { ...names, delta: 'argumentsDelta', text: block.arguments as string, ids }
  }
  const kind = block.type === 'reasoning' ? 'reasoning' : 'text'
  const names = { packedType: `${kind}-chunks`, chunkType: `${kind}-delta`, payload: 'texts' } as const
  return { ...names, delta: 'text', text: String(block.text ?? ''), ids: {} }
}

// biome-ignore format: a list, not a column
const WORDS = [
  'the', 'log', 'folds', 'a', 'surface', 'of', 'events', 'naïve', 'Größe', '🚀', '👩‍👩‍👧‍👦', '🏳️‍🌈', '你好，世界', '界', '日本語', '한국어', 'שלום',
  'tab\there', 'line\nbreak', 'cr\r\nlf', 'quote"d', 'back\\slash', '\\u0041', '</referenced-sessions>', '<b>&amp;',
  'line\u2028sep', 'para\u2029sep', '\ufeffbom', 'nul\u0000', 'esc\u001b[31m', 'del\u007f', '\u202ebidi', '\ufffd', '{"type":"turn/end"}',
  '"surfaceOp":"append"', "it's", '…',
]

/** Numbers from a seed (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }

  /** An integer from 0 up to but not including the limit; 0 for a limit of 0. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T
  }

  text(words: number): string {
    const text = Array.from({ length: words }, () => this.pick(WORDS)).join(' ')
    return this.chance(0.05) ? `${text}${this.pick(['\ud83d', '\udc00 ', '\udc00\ud83d'])}` : text
  }

  /** Pieces of one to five code units, as a stream brings them: a surrogate pair may be cut in two. */
  split(text: string): string[] {
    const pieces: string[] = []
    for (let at = 0; at < text.length && pieces.length < 40; ) {
      const length = pieces.length === 39 ? text.length : 1 + this.below(5)
      pieces.push(text.slice(at, at + length))
      at += length
    }
    return pieces
  }
}

// Other spellings of the same log.

/**
 * Writes some rows of a log differently without changing what they say: other key order, white space, escapes, numbers such
 * as `5.0`, a carriage return before the newline. The bytes must be a log whose rows are all JSON.
 */
export function respell(seed: number, bytes: Uint8Array): { bytes: Buffer; what: string } {
  const random = new Random(seed)
  const lines = splitLines(bytes)
  const changes: string[] = []
  const respelled = lines.rows.map((row, index) => {
    const value = parseRow(row)
    if (value === undefined || random.chance(0.5)) return row
    const spelling = random.pick(['key order', 'white space', 'escapes', 'numbers', 'carriage return'] as const)
    changes.push(`${spelling} in row ${index + 1}`)
    if (spelling === 'carriage return') return Buffer.concat([row, Buffer.from('\r')])
    return Buffer.from(spell(value, spelling, random))
  })
  return { bytes: joinLines({ ...lines, rows: respelled }), what: changes.join(', ') || 'nothing' }
}

type Spelling = 'key order' | 'white space' | 'escapes' | 'numbers'

function spell(value: unknown, spelling: Spelling, random: Random): string {
  const space = (): string => (spelling === 'white space' ? random.pick(['', ' ', '  ', '\t', '\r']) : '')
  if (Array.isArray(value)) {
    return `[${value.map((item) => `${space()}${spell(item, spelling, random)}${space()}`).join(',')}]`
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
    if (spelling === 'key order') entries.sort(() => random.next() - 0.5)
    const members = entries.map(([key, member]) => {
      const name = spelling === 'escapes' ? spellString(key, random) : JSON.stringify(key)
      return `${space()}${name}${space()}:${space()}${spell(member, spelling, random)}${space()}`
    })
    return `{${members.join(',')}}`
  }
  if (typeof value === 'string' && spelling === 'escapes') return spellString(value, random)
  if (typeof value === 'number' && spelling === 'numbers' && Number.isSafeInteger(value) && value >= 0) {
    return random.pick([`${value}`, `${value}.0`, `${value}e0`, `${value}E+0`])
  }
  return JSON.stringify(value)
}

function spellString(text: string, random: Random): string {
  let spelled = ''
  for (const unit of text.split('')) {
    const code = unit.charCodeAt(0)
    const isSurrogate = code >= 0xd800 && code <= 0xdfff
    if (isSurrogate || random.chance(0.2)) spelled += `\\u${code.toString(16).padStart(4, '0')}`
    else if (unit === '/') spelled += '\\/'
    else spelled += JSON.stringify(unit).slice(1, -1)
  }
  return `"${spelled}"`
}

// Damage.

export interface Mutation {
  readonly bytes: Buffer
  /** Which mutation, and where. */
  readonly what: string
}

/** Changes one thing in a log: a byte, a row or a field. What it leaves may be valid, damaged, or no log at all. */
export function mutate(seed: number, bytes: Uint8Array): Mutation {
  const random = new Random(seed)
  for (;;) {
    const name = random.pick(MUTATION_KINDS)
    const mutation = MUTATIONS[name]?.(random, Buffer.from(bytes))
    // A mutation that finds nothing to change, such as a title in a log without one, leaves the turn to another.
    if (mutation !== undefined) return { bytes: mutation.bytes, what: `${name}: ${mutation.what}` }
  }
}

type Mutate = (random: Random, bytes: Buffer) => Mutation | undefined

/** A text that stands in a row as it is, for values JSON.stringify cannot write. */
const raw = (text: string): string => `\u0000raw:${text}`

const ODD_NUMBERS = [-1, 0.5, '0', null, raw('-0'), raw('1e999'), 9_007_199_254_740_992, 4_000_000_000, true, [], {}]
const ODD_VALUES = [null, 0, -1, 1.5, '', 'x', true, false, [], {}, [null], { a: 1 }]
// biome-ignore format: a list, not a column
const EVENT_TYPES = [
  'turn/end', 'turn/start', 'user/message', 'assistant/message', 'tool/result', 'system/message', 'developer/message', 'steering/message',
  'session/title', 'session/end-seed', 'text-chunks', 'future/thing', 'request/header-delta', 'mode/set', 'session', '',
]

const MUTATIONS: Readonly<Record<string, Mutate>> = {
  // Bytes.
  'flip-bit': (random, bytes) => {
    if (bytes.length === 0) return undefined
    const at = random.below(bytes.length)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
    return { bytes, what: `byte ${at}` }
  },
  'delete-bytes': (random, bytes) => {
    const at = random.below(bytes.length)
    const end = at + 1 + random.below(8)
    return { bytes: Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]), what: `${at} to ${end}` }
  },
  'insert-bytes': (random, bytes) => {
    const at = random.below(bytes.length + 1)
    const inserted = Buffer.from(Array.from({ length: 1 + random.below(4) }, () => random.below(256)))
    return { bytes: insert(bytes, at, inserted), what: `${inserted.toString('hex')} at ${at}` }
  },
  'invalid-utf8': (random, bytes) => {
    const at = random.below(bytes.length + 1)
    const invalid = Buffer.from(
      random.pick([[0xff], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf8, 0x88]]),
    )
    return { bytes: insert(bytes, at, invalid), what: `${invalid.toString('hex')} at ${at}` }
  },
  'insert-text': (random, bytes) => {
    const at = random.below(bytes.length + 1)
    const text = random.pick(['\n', '"', '\\', '{', '}', ',', '\u0000', '\ufeff', '\u2028', 'e9', '\r'])
    return { bytes: insert(bytes, at, Buffer.from(text)), what: `${JSON.stringify(text)} at ${at}` }
  },
  truncate: (random, bytes) => {
    const length = random.below(bytes.length + 1)
    return { bytes: bytes.subarray(0, length), what: `after ${length} bytes` }
  },
  'append-bytes': (random, bytes) => {
    // biome-ignore format: a list, not a column
    const text = random.pick([
      '{', '\n', '\u0000\u0000\u0000\n', '{nope\n', '{"type":"turn/start"', '[]\n', 'null\n', '\ufeff\n',
    ])
    return { bytes: Buffer.concat([bytes, Buffer.from(text)]), what: JSON.stringify(text) }
  },

  // Rows.
  'drop-row': onRows((random, rows) => {
    const at = random.below(rows.length)
    rows.splice(at, 1)
    return `row ${at + 1}`
  }),
  'duplicate-row': onRows((random, rows) => {
    const at = random.below(rows.length)
    const to = random.below(rows.length + 1)
    rows.splice(to, 0, rows[at] as Buffer)
    return `row ${at + 1} before row ${to + 1}`
  }),
  'swap-rows': onRows((random, rows) => {
    const at = random.below(rows.length)
    const other = random.chance(0.5) ? random.below(rows.length) : Math.min(at + 1, rows.length - 1)
    const [one, two] = [rows[at] as Buffer, rows[other] as Buffer]
    rows[at] = two
    rows[other] = one
    return `rows ${at + 1} and ${other + 1}`
  }),
  'odd-row': onRows((random, rows) => {
    const at = random.below(rows.length + 1)
    const text = random.pick(['', '[]', 'null', '7', '"x"', '{}', '{nope', ' ', '{"type":"turn/end"}', 'true'])
    rows.splice(at, random.below(2), Buffer.from(text))
    return `${JSON.stringify(text)} as row ${at + 1}`
  }),
  'cut-row': onRows((random, rows) => {
    const at = random.below(rows.length)
    const row = rows[at] as Buffer
    rows[at] = row.subarray(0, random.below(row.length))
    return `row ${at + 1}`
  }),
  'join-rows': onRows((random, rows) => {
    if (rows.length < 2) return undefined
    const at = random.below(rows.length - 1)
    rows.splice(at, 2, Buffer.concat([rows[at] as Buffer, rows[at + 1] as Buffer]))
    return `rows ${at + 1} and ${at + 2}`
  }),
  'keep-rows': onRows((random, rows) => {
    rows.length = random.below(rows.length + 1)
    return `${rows.length}`
  }),
  'append-row': onRows((random, rows) => {
    const last = rows.map(parseRow).findLast((row) => typeof row?.seq === 'number')
    const seq = (typeof last?.seq === 'number' ? last.seq : -1) + random.pick([1, 1, 0, 2, -1])
    const type = random.pick(EVENT_TYPES)
    const data = random.pick<unknown>([{}, null, { turn: 1 }, { title: 'late' }, { inherited: true }])
    const surface = random.pick<JsonObject>([{}, {}, { surfaceOp: 'append' }, { ignorable: true }])
    const row = { type, seq, time: 1, data, ...surface }
    rows.push(Buffer.from(JSON.stringify(row)))
    return JSON.stringify(row)
  }),

  // Fields of the header.
  'header-value': onRow(isHeader, (random, header) => {
    const key = random.pick(Object.keys(header))
    header[key] = random.pick<unknown>(key === 'version' ? [0, 1, 2, 3, 4, 5, 99, ...ODD_NUMBERS] : ODD_VALUES)
    return key
  }),
  'header-key': onRow(isHeader, (random, header) => {
    const added = random.pick(['sandboxMode', 'approvalPolicy', 'draft', 'seedLength', 'isSeeded', 'origin', 'system'])
    if (random.chance(0.5)) return drop(random, header)
    header[added] = random.pick<unknown>([true, false, 0, 3, 10_000, 'x', 'subagent', null])
    return added
  }),
  'header-cwd': onRow(isHeader, (random, header) => {
    header.cwd = random.pick(['rel/path', '', '.', 'C:', 'C:\\x', '\\\\host\\share', '~', '/', './x', '/a\u0000b'])
    return String(header.cwd)
  }),

  // Fields of any envelope.
  seq: onRow(isRow, (random, row) => {
    const key = 'seq0' in row ? 'seq0' : 'seq'
    const seq = Number(row[key])
    row[key] = random.pick<unknown>([seq + 1, seq - 1, seq + 0.5, `${seq}`, raw(`${seq}.0`), ...ODD_NUMBERS])
    return `${key} ${seq}`
  }),
  time: onRow(isRow, (random, row) => {
    row['time0' in row ? 'time0' : 'time'] = random.pick<unknown>([...ODD_NUMBERS, -5, 0])
    return ''
  }),
  type: onRow(isRow, (random, row) => {
    row.type = random.pick<unknown>([...EVENT_TYPES, null, 3])
    return String(row.type)
  }),
  'missing-key': onRow(isRow, drop),
  data: onRow(isRow, (random, row) => {
    row.data = random.pick(ODD_VALUES)
    return JSON.stringify(row.data)
  }),
  ignorable: onRow(isRow, (random, row) => {
    row.ignorable = random.pick<unknown>([true, true, false, null, 'true', 1])
    return String(row.ignorable)
  }),
  'extra-key': onRow(isRow, (random, row) => {
    const key = random.pick(['extra', '__proto__', 'constructor', 'Seq', 'seq0', 'version', ''])
    const value = random.pick(ODD_VALUES)
    // An assignment to __proto__ would write no key.
    Object.defineProperty(row, key, { value, enumerable: true, configurable: true, writable: true })
    return key
  }),
  'log-only-surface': onRow(
    (row) => isRow(row) && !isSurface(row),
    (random, row) => {
      const key = random.pick(['surfaceOp', 'sourceEventSeqs'])
      row[key] = random.pick<unknown>([null, 'append', [], [0]])
      return key
    },
  ),
  'duplicate-key': onLine(isRow, (random, text, row) => {
    const key = random.pick(Object.keys(row))
    const value = JSON.stringify(random.pick<unknown>([row[key], ...ODD_VALUES]))
    const member = `${JSON.stringify(key)}:${value}`
    return random.chance(0.5) ? `{${member},${text.slice(1)}` : `${text.slice(0, -1)},${member}}`
  }),
  decoy: onRow(
    (row) => isRow(row) && typeof row.data === 'object' && row.data !== null,
    (random, row) => {
      const key = random.pick(['type', 'seq', 'surfaceOp', 'sourceEventSeqs', 'ignorable', 'data', '}', '\\"'])
      row.data = {
        [key]: random.pick<unknown>(['turn/end', 0, 'append', '"seq":0}', { type: 'turn/end' }]),
        ...(row.data as object),
      }
      return key
    },
  ),

  // Fields of surface events.
  'surface-op': onRow(isSurface, (random, row) => {
    const op = row.surfaceOp
    const old = { op: 'replace', start: 0, end: 0 }
    const current = { op: 'replace', startSeq: 0, endSeq: 0 }
    // biome-ignore format: a list, not a column
    row.surfaceOp = random.pick<unknown>([
      null, 1, 'prepend', 'replace', ['append'], {}, { op: 'append' }, old, current, 'append', { ...old, why: 1 },
    ])
    return `${JSON.stringify(op)} to ${JSON.stringify(row.surfaceOp)}`
  }),
  'replace-value': onRow(isReplace, (random, row) => {
    const op = row.surfaceOp as JsonObject
    const key = random.pick(Object.keys(op))
    const value = Number(op[key])
    op[key] = random.pick<unknown>([value + 1, value - 1, row.seq, 0, raw(`${value}.0`), ...ODD_NUMBERS])
    return key
  }),
  'replace-key': onRow(isReplace, (random, row) => {
    const op = row.surfaceOp as JsonObject
    if (random.chance(0.5)) return drop(random, op)
    op[random.pick(['why', 'start', 'endSeq'])] = 0
    return 'added'
  }),
  'replace-span': onRows((random, rows) => {
    const parsed = rows.map(parseRow)
    const isOld = Number(parsed[0]?.version) <= 2
    const places = parsed.flatMap((row, at) => (row !== undefined && isSurface(row) ? [{ at, row }] : []))
    const chosen = random.below(places.length - 1) + 1
    const place = places[chosen]
    if (place === undefined) return undefined
    // Everything earlier is cited, so that it is the span itself that decides.
    const cited = places.slice(0, chosen).map(({ row }) => row.seq)
    const [start, end] = [random.chance(0.5) ? cited[0] : random.pick(cited), random.pick(cited)]
    place.row.surfaceOp = isOld ? { op: 'replace', start, end } : { op: 'replace', startSeq: start, endSeq: end }
    place.row.sourceEventSeqs = cited
    rows[place.at] = Buffer.from(stringify(place.row))
    return `row ${place.at + 1} over ${start} to ${end}`
  }),
  'replace-order': onRow(isReplace, (_random, row) => {
    const op = row.surfaceOp as JsonObject
    const [start, end] = 'start' in op ? ['start', 'end'] : ['startSeq', 'endSeq']
    Object.assign(op, { [start as string]: op[end as string], [end as string]: op[start as string] })
    return 'swapped'
  }),
  sources: onRow(isSurface, (random, row) => {
    const seq = Number(row.seq)
    // biome-ignore format: a list, not a column
    const lists = [
      [], [seq], [seq - 1], [0], [0, 0], [[0, seq - 1]], [[0, seq]], [[0, 0]], [[1, 0]], [[0, 1], 1], [[0]], [[0, 1, 2]],
    ]
    // biome-ignore format: a list, not a column
    row.sourceEventSeqs = random.pick<unknown>([
      ...lists, null, 0, {}, ['0'], [null], [raw('-0')], [0.5], [-1], [[0, 0.5]],
    ])
    return JSON.stringify(row.sourceEventSeqs)
  }),
  'source-entry': onRow(
    (row) => Array.isArray(row.sourceEventSeqs) && row.sourceEventSeqs.length > 0,
    (random, row) => {
      const sources = row.sourceEventSeqs as unknown[]
      const at = random.below(sources.length)
      const changes: [string, () => unknown][] = [
        ['dropped', () => sources.splice(at, 1)],
        ['doubled', () => sources.push(sources[at])],
        ['reversed', () => sources.reverse()],
        ['paired', () => Array.isArray(sources[at]) || sources.splice(at, 1, [sources[at], sources[at]])],
        ['expanded', () => (row.sourceEventSeqs = sources.flatMap(expand))],
        ['odd', () => (sources[at] = random.pick(ODD_NUMBERS))],
      ]
      const [what, change] = random.pick(changes)
      change()
      return `entry ${at} ${what}`
    },
  ),
  message: onRow(isSurface, (random, row) => {
    const message = messageOf(row)
    if (message === undefined) return undefined
    const key = random.pick(['id', 'role', 'content', 'source', 'extra', 'toolCallId', 'isError'])
    const roles = ['user', 'assistant', 'tool', 'system', 'developer']
    if (random.chance(0.3) && key in message) delete message[key]
    else message[key] = random.pick<unknown>(key === 'role' ? [...roles, ...ODD_VALUES] : ODD_VALUES)
    return key
  }),
  'message-source': onRow(isSurface, (random, row) => {
    const source = messageOf(row)?.source
    if (!isObject(source)) return undefined
    const key = random.pick(['kind', 'plugin', 'callId', 'provider', 'compactionId'])
    const kinds = ['user', 'model', 'tool', 'plugin', 'compact-checkpoint', 'compact', 'goal']
    source[key] = random.pick<unknown>([...kinds, ...ODD_VALUES])
    return `${key} ${JSON.stringify(source[key])}`
  }),
  'message-block': onRow(isSurface, (random, row) => {
    const content = messageOf(row)?.content
    if (!Array.isArray(content)) return undefined
    // biome-ignore format: a list, not a column
    const block = random.pick<unknown>([
      null, 'x', [], {}, { type: 'text' }, { type: 'text', text: 1 }, { text: 'x' }, { type: 'quote', text: 'x' },
      { type: 'text', text: 'added' }, { type: 'text', text: '' }, { type: 'tool-addition', toolName: 'bash' },
      { type: 'tool-result', toolCallId: 'x', content: [] },
    ])
    content.splice(random.below(content.length + 1), random.below(2), block)
    return JSON.stringify(block)
  }),
  'message-wrapper': onRow(isSurface, (random, row) => {
    if (!isObject(row.data)) return undefined
    const data = row.data
    // biome-ignore format: a list, not a column
    const key = random.pick([
      'turn', 'step', 'message', 'stream', 'error', 'meta', 'headerSeq', 'note', 'content', 'provenance', 'callId',
    ])
    if (random.chance(0.4) && key in data) delete data[key]
    else data[key] = random.pick<unknown>([...ODD_VALUES, row.seq, Number(row.seq) - 1])
    return key
  }),
  'tool-result': onRow(
    (row) => row.type === 'tool/result' && messageOf(row) !== undefined,
    (random, row) => {
      const message = messageOf(row) as JsonObject
      const result = message.role === 'tool' ? message : (message.content as unknown[] | undefined)?.[0]
      if (!isObject(result)) return undefined
      const key = random.pick(['toolCallId', 'isError', 'content', 'type'])
      result[key] = random.pick<unknown>([true, false, [], 'x', null, [{ type: 'text', text: 'other' }]])
      return key
    },
  ),

  // Fields of other events.
  title: onRow(
    (row) => row.type === 'session/title' && isObject(row.data),
    (random, row) => {
      ;(row.data as JsonObject).title = random.pick<unknown>([...ODD_VALUES, 'T', '\ud800'])
      return JSON.stringify((row.data as JsonObject).title)
    },
  ),
  'seed-marker': onRow(
    (row) => row.type === 'session/end-seed',
    (random, row) => {
      row.data = random.pick<unknown>([{}, { inherited: true }, { inherited: false }, null, []])
      return JSON.stringify(row.data)
    },
  ),
  'request-header': onRow(
    (row) => row.type === 'request/header' && isObject(row.data),
    (random, row) => {
      const data = row.data as JsonObject
      if (random.chance(0.3)) data.reason = 'fallback'
      else data.header = random.pick<unknown>([{ system: 's' }, { tools: [] }, { tools: ['bash', 'bash'] }, {}, null])
      return JSON.stringify(data.reason)
    },
  ),
  packed: onRow(
    (row) => 'seq0' in row && isObject(row.data),
    (random, row) => {
      const data = row.data as JsonObject
      const payload = 'args' in data ? 'args' : 'texts'
      const key = random.pick([payload, 'dt', 'turn', 'index', 'id', 'name', 'extra'])
      const list = Array.isArray(data[key]) ? (data[key] as unknown[]) : undefined
      if (list && random.chance(0.5))
        list.splice(random.below(list.length + 1), random.below(2), random.pick<unknown>([0, '', null, 0.5]))
      else if (random.chance(0.3)) delete data[key]
      else data[key] = random.pick<unknown>([...ODD_VALUES, raw('-0'), 1e300, [9_007_199_254_740_991]])
      return key
    },
  ),
}

/** The kinds of mutation, so that a test can see that it met them all. */
export const MUTATION_KINDS: readonly string[] = Object.keys(MUTATIONS)

interface Lines {
  readonly rows: Buffer[]
  /** What follows the last newline. */
  readonly rest: Buffer
}

function splitLines(bytes: Uint8Array): Lines {
  const rows: Buffer[] = []
  const all = Buffer.from(bytes)
  let start = 0
  for (let end = all.indexOf(0x0a); end !== -1; end = all.indexOf(0x0a, start)) {
    rows.push(all.subarray(start, end))
    start = end + 1
  }
  return { rows, rest: all.subarray(start) }
}

function joinLines({ rows, rest }: Lines): Buffer {
  return Buffer.concat([...rows.flatMap((row) => [row, Buffer.from('\n')]), rest])
}

function parseRow(row: Uint8Array): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(row).toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    // A row that an earlier mutation made unreadable.
    return undefined
  }
}

function stringify(value: unknown): string {
  return JSON.stringify(value).replace(/"\\u0000raw:([^"]*)"/g, '$1')
}

/** Lets a function change the rows; it says what it did, or `undefined` when there is nothing to do. */
function onRows(change: (random: Random, rows: Buffer[]) => string | undefined): Mutate {
  return (random, bytes) => {
    const lines = splitLines(bytes)
    if (lines.rows.length === 0) return undefined
    const what = change(random, lines.rows)
    return what === undefined ? undefined : { bytes: joinLines(lines), what }
  }
}

/** Lets a function write one of the rows anew that satisfy a condition. */
function onLine(
  isWanted: (row: JsonObject) => boolean,
  change: (random: Random, text: string, row: JsonObject) => string | undefined,
): Mutate {
  return onRows((random, rows) => {
    const places = rows.flatMap((bytes, at) => {
      const row = parseRow(bytes)
      return row !== undefined && isWanted(row) ? [{ at, row }] : []
    })
    if (places.length === 0) return undefined
    const { at, row } = random.pick(places)
    const text = change(random, (rows[at] as Buffer).toString('utf8'), row)
    if (text === undefined) return undefined
    rows[at] = Buffer.from(text)
    return `row ${at + 1}`
  })
}

/** Lets a function change one of the rows that satisfy a condition. */
function onRow(
  isWanted: (row: JsonObject) => boolean,
  change: (random: Random, row: JsonObject) => string | undefined,
): Mutate {
  return (random, bytes) => {
    let detail: string | undefined
    const mutation = onLine(isWanted, (inner, _text, row) => {
      detail = change(inner, row)
      return detail === undefined ? undefined : stringify(row)
    })(random, bytes)
    return mutation && { bytes: mutation.bytes, what: `${mutation.what} ${detail}` }
  }
}

function insert(bytes: Buffer, at: number, inserted: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at)])
}

function drop(random: Random, value: JsonObject): string {
  const key = random.pick(Object.keys(value))
  delete value[key]
  return `without ${key}`
}

function expand(entry: unknown): unknown[] {
  if (!Array.isArray(entry)) return [entry]
  const [start, end] = entry.map(Number) as [number, number]
  // An earlier mutation may have made it endless, or no pair.
  if (!(end - start < 10_000)) return [entry]
  return Array.from({ length: end - start + 1 }, (_, member) => start + member)
}

function messageOf(row: JsonObject): JsonObject | undefined {
  if (!isObject(row.data)) return undefined
  const message = row.type === 'user/message' ? row.data : row.data.message
  return isObject(message) ? message : undefined
}

function isHeader(row: JsonObject): boolean {
  return row.type === 'session'
}

function isRow(row: JsonObject): boolean {
  return row.type !== 'session' && Object.keys(row).length > 0
}

function isSurface(row: JsonObject): boolean {
  return 'surfaceOp' in row
}

function isReplace(row: JsonObject): boolean {
  return isObject(row.surfaceOp) && Object.keys(row.surfaceOp).length > 0
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
