// What several commands do with session arguments: find them, read them, know the target.

import type { LogSource } from '../decode/decode.ts'
import { type DecodeLimits, LARGEST_ROW_BYTES } from '../decode/limits.ts'
import { invalidConfig, isReadFailure } from '../errors.ts'
import type { SalvagedSurface, SalvageOptions } from '../fold/salvage.ts'
import { parseSessionArgument } from '../locate/argument.ts'
import { locate, locatePath, sourceOf } from '../locate/locate.ts'
import type { LocateOptions } from '../locate/located-log.ts'
import type { ReferenceInput } from '../prepare/request.ts'
import type { Issue } from '../types.ts'
import { absolutePath, integer, optionsOf, resolveRoots } from './options.ts'
import type { CommandContext, CommandOptions } from './print.ts'

/** How a command reads logs: roots, limits, what it does about unknown versions, and with `--strict` everything. */
export type ReadingOptions = LocateOptions & {
  readonly limits: Partial<DecodeLimits>
  readonly salvage: boolean
  readonly everyRow: boolean
}

/** … and what of a log: the surface at some event, the texts of all its messages. */
type SurfaceReadingOptions = ReadingOptions & Pick<SalvageOptions, 'throughSeq' | 'texts'>

/** The reading options common to commands that open logs. */
export function readingOptions(context: CommandContext, options: CommandOptions): ReadingOptions {
  const { maxRowBytes, maxLogBytes, maxWindowBytes } = optionsOf(options, {
    maxRowBytes: integer({ min: 1024, max: LARGEST_ROW_BYTES }),
    maxLogBytes: integer({ min: 1024 }),
    maxWindowBytes: integer({ min: 1024 }),
  })
  return {
    roots: resolveRoots(context).paths,
    allowUnknownVersion: options.allowUnknownVersion === true,
    salvage: options.salvage === true,
    everyRow: context.globals.strict,
    limits: {
      ...(maxRowBytes !== undefined && { maxRowBytes }),
      ...(maxLogBytes !== undefined && { maxLogBytes }),
      ...(maxWindowBytes !== undefined && { maxWindowBytes }),
    },
    signal: context.signal,
  }
}

/**
 * The logs and session directories that arguments name by their paths, and that of `$DSH_SESSION_JSONL` when it stands in for
 * a target: known before anything is read.
 */
export function pathsNamed(
  names: readonly string[],
  target: string | undefined,
  context: Pick<CommandContext, 'cwd' | 'env' | 'home'>,
): string[] {
  const paths = (target === undefined ? names : [...names, target]).flatMap((name) => {
    const parsed = parseSessionArgument(name, context.cwd)
    return parsed.kind === 'path' ? [parsed.path] : []
  })
  const ofTarget = target === undefined ? context.env.DSH_SESSION_JSONL?.trim() : undefined
  return ofTarget ? [...paths, absolutePath(ofTarget, context)] : paths
}

/** Finds what a `--ref` names; a log on standard input is read at once, since its id stands in it. */
export async function referenceOf(
  argument: string,
  context: CommandContext,
  options: ReadingOptions,
): Promise<ReferenceInput> {
  const parsed = parseSessionArgument(argument, context.cwd)
  if (parsed.kind === 'stdin') return { surface: await readStdin(context, options) }
  return { log: await locate(parsed, options), ...('label' in parsed && { label: parsed.label }) }
}

/**
 * Reads the surface an argument names: a session, a path, or raw rows on standard input. Texts that projection drops are
 * read only when `options` says so.
 */
export async function surfaceOf(
  argument: string,
  context: CommandContext,
  options: SurfaceReadingOptions,
): Promise<SalvagedSurface> {
  const parsed = parseSessionArgument(argument, context.cwd)
  if (parsed.kind === 'stdin') return readStdin(context, options)
  const log = await locate(parsed, options)
  const surface = await readLog(sourceOf(log), options)
  return { ...surface, issues: [...log.issues, ...surface.issues] }
}

/** A surface with its secrets masked and counted, where the run masks or refuses them. */
export async function redactedSurface(
  surface: SalvagedSurface,
  { secrets, signal }: CommandContext,
): Promise<SalvagedSurface> {
  if (!secrets) return surface
  const { redactSurface } = await import('../redact.ts')
  return redactSurface(surface, secrets.scan, signal)
}

async function readStdin(context: CommandContext, options: SurfaceReadingOptions): Promise<SalvagedSurface> {
  if (context.stdin.isTerminal) {
    throw invalidConfig(
      '"-" reads a session log from standard input, which is a terminal; pipe a log in or name a session',
    )
  }
  const { encodingOfStream } = await import('../decode/encoding.ts')
  return readLog({ kind: 'bytes', name: '<stdin>', ...(await encodingOfStream(context.stdin.chunks())) }, options)
}

async function readLog(source: LogSource, options: SurfaceReadingOptions): Promise<SalvagedSurface> {
  // Loaded when a log is read: a list that only looks its target up, if it has one, does without.
  const { readSurfaceOrPrefix } = await import('../fold/salvage.ts')
  return readSurfaceOrPrefix(source, { texts: 'conversation', ...options })
}

/** The session that receives, as far as it is known. */
export interface Target {
  readonly sessionId: string
  /** Where it works; known when its log is on disk. */
  readonly cwd?: string
}

/**
 * The target of `--target`, else of `$DSH_SESSION_JSONL`. It need not be on disk; a name that is the beginning of several
 * ids is refused.
 */
export async function targetOf(
  argument: string | undefined,
  context: CommandContext,
  options: ReadingOptions,
): Promise<{ target: Target | undefined; issues: readonly Issue[] }> {
  if (argument === undefined) return targetOfEnvironment(context, options)
  const parsed = parseSessionArgument(argument, context.cwd)
  if (parsed.kind === 'stdin') throw invalidConfig('--target takes a session, not standard input')
  try {
    const { header } = await locate(parsed, options)
    return { target: targetFrom(header), issues: [] }
  } catch (error) {
    const isOnlyUnread = isReadFailure(error) && error.reason !== 'ambiguous'
    if (!isOnlyUnread || parsed.kind === 'path') throw error
    return { target: { sessionId: parsed.sessionId }, issues: [] }
  }
}

async function targetOfEnvironment(
  context: CommandContext,
  options: ReadingOptions,
): Promise<{ target: Target | undefined; issues: readonly Issue[] }> {
  const path = context.env.DSH_SESSION_JSONL
  if (path === undefined || path.trim() === '') return { target: undefined, issues: [] }
  try {
    const { header } = await locatePath(absolutePath(path, context), options)
    return { target: targetFrom(header), issues: [] }
  } catch (error) {
    if (!isReadFailure(error)) throw error
    // A session that has not written anything yet has no log; that is no defect.
    if (error.reason === 'not-found') return { target: undefined, issues: [] }
    const message = `$DSH_SESSION_JSONL names a log that cannot be read: ${error.message}`
    return { target: undefined, issues: [{ kind: 'unreadable-log', message, file: path }] }
  }
}

function targetFrom({ id, cwd }: { id: string; cwd?: string }): Target {
  return { sessionId: id, ...(cwd !== undefined && { cwd }) }
}
