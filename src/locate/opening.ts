// Opens the header of a log and holds it against the name and the place of the file.

import type { LogEncoding } from '../decode/decode.ts'
import { type HeaderPeek, peekLogHeader } from '../decode/header-peek.ts'
import { DshRefError, readFailed } from '../errors.ts'
import type { ReadingMode, SessionHeader } from '../types.ts'
import { hasDuePlace, pathIssue } from './due-place.ts'
import { type Generation, generationIn } from './generations.ts'
import type { LocatedLog, LocateOptions } from './located-log.ts'

/** Rule of a refusal of bytes that are not stored as the name of their file says. */
const MISNAMED = 'encoding-mismatch'

/** The log a session directory holds now; `undefined` when there is none in it. */
export async function locateDirectory(directory: string, options: LocateOptions): Promise<LocatedLog | undefined> {
  const generation = generationIn(directory)
  return generation && openGeneration(generation, options)
}

/** Opens the header of a generation and holds it against the name and the place of the file. */
export async function openGeneration(
  generation: Generation,
  options: LocateOptions,
  mode: ReadingMode = 'native',
): Promise<LocatedLog> {
  const { path, encoding } = generation
  const locatedAs = (as: LogEncoding, header: SessionHeader): LocatedLog => {
    checkVersion(generation, header)
    const misplaced = hasDuePlace(path, options.roots) ? pathIssue({ path, header }) : undefined
    const issues = misplaced ? [...generation.issues, misplaced] : generation.issues
    return { path, encoding: as, mode, header, issues }
  }
  try {
    const { header } = peekGeneration(generation, options) ?? (await readHeader({ path, encoding }, options))
    return locatedAs(encoding, header)
  } catch (error) {
    if (!options.salvage || !(error instanceof DshRefError) || error.facts.rule !== MISNAMED) throw error
    const actual = encoding === 'raw' ? 'zstd' : 'raw'
    const { header } = await readHeader({ path, encoding: actual }, options)
    return { ...locatedAs(actual, header), refusal: error }
  }
}

/** The header of a generation, if one look is enough to have it; the careful way is `readHeader`. */
export function peekGeneration(
  { path, version, encoding, isFile }: Generation,
  options: Pick<LocateOptions, 'allowUnknownVersion' | 'limits'>,
): HeaderPeek | undefined {
  if (!isFile || encoding !== 'raw') return undefined
  const peek = peekLogHeader(path, options)
  return peek?.header.version === version ? peek : undefined
}

/** The header of a log, read the careful way. */
export async function readHeader(log: Pick<Generation, 'path' | 'encoding'>, options: Omit<LocateOptions, 'roots'>) {
  // Loaded when it is needed: of thousands of logs nearly none needs it.
  const { readLogHeader } = await import('../decode/decode.ts')
  try {
    return await readLogHeader({ kind: 'file', ...log }, { ...options, allowFullHeaderFrame: options.salvage === true })
  } catch (error) {
    throw (await misnamed(log, error)) ?? error
  }
}

/** What a corrupt log is that is stored in the other way than its name says. */
async function misnamed(
  { path, encoding }: Pick<Generation, 'path' | 'encoding'>,
  error: unknown,
): Promise<DshRefError | undefined> {
  if (!(error instanceof DshRefError) || error.reason !== 'corrupt') return undefined
  const { encodingOfFile } = await import('../decode/encoding.ts')
  const actual = encodingOfFile(path)
  if (actual === undefined || actual === encoding) return undefined
  const [held, due] = actual === 'zstd' ? ['zstd frames', 'plain rows'] : ['plain rows', 'zstd frames']
  return readFailed(
    'corrupt',
    `${path} holds ${held}, but its name stands for ${due}, so DSH refuses it; --salvage reads it`,
    { file: path, rule: MISNAMED, expected: encoding, actual },
    { cause: error },
  )
}

/** Refuses a log whose name says another format version than its header (FORMAT.md section 1.3). */
export function checkVersion({ path, version }: Pick<Generation, 'path' | 'version'>, header: SessionHeader): void {
  if (header.version === version) return
  throw readFailed('corrupt', `${path} is named as format version ${version}, its header says ${header.version}`, {
    file: path,
    rule: 'version-mismatch',
    expected: version,
    actual: header.version,
  })
}
