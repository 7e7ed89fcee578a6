// `dsh-ref spill list|prune`, and the directory that `--spill-dir` names for every command. Saving is transcript/spill.ts,
// which is loaded only where transcripts may be saved.

import { isAbsolute, join } from 'node:path'
import { DshRefError, invalidConfig, readFailed } from '../errors.ts'
import { WriteGuard } from '../files/write-guard.ts'
import type { Spill } from '../prepare/request.ts'
import type { SpilledTranscript } from '../transcript/spill-store.ts'
import { absolutePath, type OptionType, oneOf, optionsOf, resolveRoots, text } from './options.ts'
import type { CommandBody, CommandContext } from './print.ts'
import { hearSignals } from './signals.ts'

/** The value of `--spill-dir` that stands for a private directory of this tool. */
const AUTO = 'auto'

/** Columns of a label in the table. */
const LABEL_COLUMNS = 32

const MILLISECONDS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** Values of `--format`. */
const FORMATS = ['table', 'json'] as const

/** How `prepare` saves transcripts: into `--spill-dir`, else `$DSH_REF_SPILL_DIR`; `undefined` when neither is given. */
export async function spillFor(
  option: string | undefined,
  context: CommandContext,
  guard: WriteGuard,
): Promise<Spill | undefined> {
  const directory = directoryOf(option, context)
  if (directory === undefined) return undefined
  await allowIn(directory, guard)
  const [{ spillTo }, { renderTranscript }] = await Promise.all([
    import('../transcript/spill.ts'),
    import('../render/transcript.ts'),
  ])
  return spillTo(directory.path, {
    render: renderTranscript,
    isPrivate: directory.isAuto,
    signal: context.signal,
    undisturbed: hearSignals,
  })
}

/** `spill list`: the transcripts that are saved. */
export const list: CommandBody = async (context, _, options) => {
  const { format = 'table', spillDir } = optionsOf(options, { format: oneOf(FORMATS), spillDir: text() })
  const { listSpills } = await import('../transcript/spill-store.ts')
  const directory = directoryOf(spillDir, context) ?? autoDirectory(context)
  const saved = await orNothing(directory.isAuto, () => listSpills(directory.path), [])
  const transcripts = await redacted(saved, context)
  if (format === 'json') await printJson(context, { directory: directory.path, transcripts })
  else await context.print.out(await table(transcripts))
}

/** The capture records with their secrets masked, where the run masks. */
async function redacted(
  transcripts: readonly SpilledTranscript[],
  { secrets }: CommandContext,
): Promise<readonly SpilledTranscript[]> {
  if (!secrets?.rules.redacts) return transcripts
  const { maskedAside } = await import('../redact.ts')
  return transcripts.map((transcript) =>
    transcript.capture ? { ...transcript, capture: maskedAside(transcript.capture, secrets.scan) } : transcript,
  )
}

/** `spill prune`: removes what was saved longer ago than `--older-than`. */
export const prune: CommandBody = async (context, _, options) => {
  const {
    format = 'table',
    spillDir,
    olderThan,
  } = optionsOf(options, { format: oneOf(FORMATS), spillDir: text(), olderThan: duration() })
  if (olderThan === undefined) throw invalidConfig('Option --older-than is missing; give an age such as 7d')
  const directory = directoryOf(spillDir, context) ?? autoDirectory(context)
  await allowIn(directory, new WriteGuard(resolveRoots(context).paths))
  const { pruneSpills } = await import('../transcript/spill-store.ts')
  const { removed, issues } = await orNothing(
    directory.isAuto,
    () => pruneSpills(directory.path, olderThan, { isDryRun: options.dryRun === true }),
    { removed: [], issues: [] },
  )
  if (format === 'json') await printJson(context, { directory: directory.path, removed, issues })
  else {
    const { visible } = await import('../render/visible.ts')
    await context.print.out(removed.map(({ path }) => `${visible(path)}\n`).join(''))
  }
  const [first] = issues
  if (first) {
    const others = issues.length === 1 ? '' : `, and ${issues.length - 1} more`
    throw readFailed('unreadable', `${first.message}${others}`, { issues })
  }
}

async function printJson(context: CommandContext, value: object): Promise<void> {
  await context.print.jsonLines([{ schemaVersion: 1, ...value }])
}

interface SpillDirectory {
  readonly path: string
  /** A directory of this tool; it comes to be with the first transcript. */
  readonly isAuto: boolean
}

function directoryOf(option: string | undefined, context: CommandContext): SpillDirectory | undefined {
  const named = option ?? context.env.DSH_REF_SPILL_DIR
  if (named === undefined || named.trim() === '') return undefined
  return named === AUTO ? autoDirectory(context) : { path: absolutePath(named, context), isAuto: false }
}

/** The XDG rules: a relative `$XDG_STATE_HOME` counts as unset. */
function autoDirectory({ env, home }: CommandContext): SpillDirectory {
  const { XDG_STATE_HOME: state = '' } = env
  return { path: join(isAbsolute(state) ? state : join(home, '.local', 'state'), 'dsh-ref', 'spill'), isAuto: true }
}

/** Asks the guard for a spill directory and what is saved in it. */
async function allowIn({ path }: SpillDirectory, guard: WriteGuard): Promise<void> {
  const { SPILL_DIRECTORY_NAME } = await import('../transcript/spill-store.ts')
  guard.allow({
    path,
    what: 'spill directory',
    advice: 'name one elsewhere with --spill-dir, $DSH_REF_SPILL_DIR or $XDG_STATE_HOME',
    directories: SPILL_DIRECTORY_NAME,
  })
}

async function orNothing<Result>(isAuto: boolean, read: () => Promise<Result>, nothing: Result): Promise<Result> {
  try {
    return await read()
  } catch (error) {
    if (isAuto && error instanceof DshRefError && error.reason === 'not-found') return nothing
    throw error
  }
}

async function table(transcripts: readonly SpilledTranscript[]): Promise<string> {
  if (transcripts.length === 0) return ''
  const { cutToWidth, displayWidth, padToWidth, visible } = await import('../render/text.ts')
  const rows = [
    ['SAVED', 'BYTES', 'LABEL', 'FILE'] as const,
    ...transcripts.map(({ path, bytes, savedAt, capture }) => {
      const saved = new Date(savedAt).toISOString().replace(/\.\d+Z$/, 'Z')
      return [saved, String(bytes), cutToWidth(visible(capture?.label ?? '-'), LABEL_COLUMNS), visible(path)] as const
    }),
  ]
  const widthOf = (column: 0 | 1 | 2) => Math.max(...rows.map((row) => displayWidth(row[column])))
  const [savedWidth, bytesWidth, labelWidth] = [widthOf(0), widthOf(1), widthOf(2)]
  const lines = rows.map(
    ([saved, bytes, label, path]) =>
      `${padToWidth(saved, savedWidth)}  ${padToWidth(bytes, bytesWidth, 'start')}  ${padToWidth(label, labelWidth)}  ${path}\n`,
  )
  return lines.join('')
}

/** An age: a whole number and a unit. */
function duration(): OptionType<number> {
  return {
    allowed: 'a whole number of s, m, h, d or w, such as 7d',
    read: (text) =>
      /^[0-9]{1,9}[smhdw]$/.test(text)
        ? Number(text.slice(0, -1)) * MILLISECONDS[text.slice(-1) as keyof typeof MILLISECONDS]
        : undefined,
  }
}
