// The event types each format version knows (FORMAT.md section 3.6) and what a reader must do with a row of each.

import { NEWEST_FORMAT_VERSION, type SurfaceType } from '../types.ts'

/** What a row of a known type asks of the reader. */
export type RowKind =
  /** Log-only: its seq counts, its payload does not matter. */
  | 'skip'
  /** Log-only and a mark of turn brackets. */
  | 'turn-start'
  | 'turn-end'
  /** Log-only, but some stage needs the payload. */
  | 'parse'
  /** Stands on the surface. */
  | 'surface'

/**
 * Log-only types. One list for all versions: a type of a neighbouring version changes neither surface nor text, and `check`
 * says where DSH itself would refuse it.
 */
const LOG_ONLY = [
  'agent/inbox/spliced',
  'approval/asked',
  'approval/decided',
  'approval/policy',
  'assistant/attempt',
  'assistant/chunk',
  'command/done',
  'command/run',
  'compact/end',
  'compact/prune',
  'compact/start',
  'compact/summary',
  'compaction/end',
  'compaction/prune',
  'compaction/start',
  'compaction/summary',
  'deliverables/presented',
  'feedback/message-delete',
  'feedback/message-put',
  'goal/change',
  'hook/invoked',
  'hook/result',
  'image/offload',
  'llm/retry',
  'llm/retry-started',
  'model/selection',
  'permission/preset',
  'sandbox/mode',
  'session-log-deepseek/delivery-accepted',
  'session/title-llm-request',
  'step/end',
  'step/start',
  'subagent/catalog',
  'subagent/descriptor',
  'subagent/model-selection-policy',
  'todo/write',
  'tool-workflow/agent-end',
  'tool-workflow/agent-start',
  'tool-workflow/run-end',
  'tool-workflow/run-start',
  'tool/call',
  'tool/code-dispatch',
  'tool/code-dispatch-start',
  'tool/ptc-dispatch',
  'tool/ptc-dispatch-start',
  'working-directory/change',
  'workspace/changes',
] as const

/** Log-only types whose payload some stage needs: titles, context windows, tool bindings, inherited parts. */
const NEEDED = ['session/title', 'session/end-seed', 'request/context', 'request/header'] as const

const SURFACE_SINCE: Readonly<Record<SurfaceType, number>> = {
  'user/message': 0,
  'assistant/message': 0,
  'tool/result': 0,
  'system/message': 3,
  'developer/message': 4,
}

/** Whether events of `type` stand on the surface in this version (FORMAT.md section 5). */
export function isSurfaceType(type: string, formatVersion: number): type is SurfaceType {
  const since = Object.hasOwn(SURFACE_SINCE, type) ? SURFACE_SINCE[type as SurfaceType] : undefined
  return since !== undefined && formatVersion >= since
}

/** Old v0 name of a surface-carrying user message (FORMAT.md section 4.1). */
export const STEERING_MESSAGE = 'steering/message'

/** Retired v0 types whose presence refuses the log (FORMAT.md section 4.1). */
export const RETIRED_TYPES: ReadonlySet<string> = new Set(['request/header-delta', 'mode/set'])

/** Packed chunk rows (FORMAT.md section 3.3), with the key of their payload. */
export const PACKED_PAYLOAD: Readonly<Record<string, 'texts' | 'args'>> = {
  'text-chunks': 'texts',
  'reasoning-chunks': 'texts',
  'tool-call-chunks': 'args',
}

/** Whether packed chunk rows are part of this version. */
export function hasPackedRows(formatVersion: number): boolean {
  return formatVersion < 2 || formatVersion > 4
}

/** Made once: a list opens thousands of logs. Versions this build does not know all have the same. */
const vocabularies = new Map<number, ReadonlyMap<string, RowKind>>()

/** Every type the version knows, with what its rows ask of the reader. The same version gives the same map. */
export function vocabularyOf(formatVersion: number): ReadonlyMap<string, RowKind> {
  const version = Math.min(formatVersion, NEWEST_FORMAT_VERSION + 1)
  const vocabulary = vocabularies.get(version) ?? makeVocabulary(version)
  vocabularies.set(version, vocabulary)
  return vocabulary
}

function makeVocabulary(formatVersion: number): ReadonlyMap<string, RowKind> {
  const kinds = new Map<string, RowKind>()
  for (const type of LOG_ONLY) kinds.set(type, 'skip')
  for (const type of NEEDED) kinds.set(type, 'parse')
  kinds.set('turn/start', 'turn-start')
  kinds.set('turn/end', 'turn-end')
  for (const type of Object.keys(SURFACE_SINCE)) if (isSurfaceType(type, formatVersion)) kinds.set(type, 'surface')
  if (formatVersion === 0) kinds.set(STEERING_MESSAGE, 'surface')
  return kinds
}
