// Works that are timed inside the benchmark's own process: what they are compared with takes no file.

import { isViolation, SurfaceFold } from '../src/fold/fold.ts'
import { readSurface } from '../src/fold/surface.ts'
import { project } from '../src/project/project.ts'
import { retain } from '../src/retain/retain.ts'
import type { ProjectedMessage, SurfaceEvent } from '../src/types.ts'
import { mulberry32, prose } from './make-logs.ts'
import type { Work } from './measure.ts'
import { foldWithNdjson } from './ndjson.ts'
import { countRows } from './newlines.ts'

/** Retention of 20,000 messages, about 8 MB, and `JSON.stringify` of them. */
export function retentionWorks(): [Work, Work] {
  const random = mulberry32(5)
  const messages = Array.from({ length: 20_000 }, (_, seq): ProjectedMessage => {
    const role = seq % 2 === 0 ? 'user' : 'assistant'
    return { seq, role, text: prose(random, 20 + random() * 140), checkpoint: false }
  })
  const source = { sessionId: 'bench', label: 'bench', cwd: '/work/bench', capturedThroughSeq: 19_999, messages }
  return [
    { name: 'retain', run: () => retain(source, 65_536) },
    { name: 'JSON.stringify', run: () => JSON.stringify(messages) },
  ]
}

/** A fold with this many appends and replacements. */
export function foldWork(name: string, nodes: number, replacements: number): Work {
  const events = surfaceEvents(nodes, replacements)
  return {
    name,
    run: () => {
      const fold = new SurfaceFold(3)
      for (const event of events) {
        const plan = fold.plan(event)
        if (isViolation(plan)) throw new Error(plan.message)
        fold.apply(plan)
      }
    },
  }
}

function surfaceEvents(nodes: number, replacements: number): SurfaceEvent[] {
  const random = mulberry32(9)
  const events: SurfaceEvent[] = []
  /** Seqs on the surface, in its order. */
  let surface: number[] = []
  const add = (surfaceOp: unknown, sourceEventSeqs?: unknown) => {
    events.push({
      seq: events.length,
      time: 0,
      type: 'user/message',
      surfaceOp,
      sourceEventSeqs,
      message: () => undefined as never,
      counted: () => undefined,
      data: () => undefined,
      release: () => undefined,
    })
  }
  const every = Math.floor(nodes / replacements)
  for (let node = 0; node < nodes; node++) {
    surface.push(events.length)
    add('append')
    if (node % every !== every - 1) continue
    // A few neighbours anywhere: their ends are looked up, their places change.
    const start = Math.floor(random() * (surface.length - 4))
    const shadowed = surface.slice(start, start + 4)
    const seq = events.length
    add(
      { op: 'replace', startSeq: shadowed[0], endSeq: shadowed.at(-1) },
      [...shadowed].sort((a, b) => a - b),
    )
    surface = [...surface.slice(0, start), seq, ...surface.slice(start + 4)]
  }
  return events
}

/** Reading a raw log without starting a process, the bare scan of it, and the fold behind ndjson. */
export function readingWorks(path: string): [Work, Work, Work] {
  return [
    {
      name: 'read and project',
      run: async () => {
        project((await readSurface({ kind: 'file', path, encoding: 'raw' }, { texts: 'conversation' })).messages)
      },
    },
    { name: 'newline scan', run: () => countRows(path) },
    { name: 'ndjson and fold', run: () => foldWithNdjson(path) },
  ]
}
