// What may stand in the configuration file, as a zod schema. Loaded only when there is a file, or when it is asked for.

import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import * as z from 'zod'
import { invalidConfig } from '../errors.ts'
import { MAX_REFERENCES } from '../prepare/references.ts'
import { wholeNumber } from './options.ts'
import { absolutePath } from './roots.ts'

/** What the file may set; paths are absolute by now. */
export interface Config {
  readonly roots?: readonly string[] | undefined
  readonly spillDir?: string | undefined
  readonly cacheDir?: string | undefined
  readonly redact?: boolean | undefined
  readonly maxReferences?: number | undefined
  readonly maxReferenceBytes?: number | undefined
  readonly contextWindow?: number | undefined
  readonly referenceContextFraction?: number | undefined
  readonly maxRowBytes?: number | undefined
  readonly maxLogBytes?: number | undefined
  readonly maxWindowBytes?: number | undefined
}

const path = () => z.string('a path').min(1, 'a path that is not empty')
const count = (min: number, max = Number.MAX_SAFE_INTEGER) => {
  const allowed = wholeNumber(min, max)
  return z.int(allowed).min(min, allowed).max(max, allowed)
}

/** What may stand in the file. */
export const ConfigSchema = z
  .strictObject({
    $schema: z.string().optional().describe('For editors; not read'),
    roots: z.array(path(), 'a list of paths').min(1, 'a list with a path in it').optional(),
    spillDir: path().optional().describe('A directory, or "auto"'),
    cacheDir: path().optional(),
    redact: z.boolean('true or false').optional().describe('Mask secrets, as --redact does'),
    maxReferences: count(1, MAX_REFERENCES).optional(),
    maxReferenceBytes: count(1).optional(),
    contextWindow: count(1).optional(),
    referenceContextFraction: z
      .number('a number from 0 to 1')
      .min(0, 'a number from 0 to 1')
      .max(1, 'a number from 0 to 1')
      .optional(),
    maxRowBytes: count(1024).optional(),
    maxLogBytes: count(1024).optional(),
    maxWindowBytes: count(1024).optional(),
  })
  .describe('dsh-ref.json; paths are relative to its directory')

/** Reads and checks the file; paths become absolute. */
export function loadConfig(file: string, home: string): Config {
  const result = ConfigSchema.safeParse(parsed(file))
  if (!result.success) throw refusal(file, result.error.issues[0])
  const { $schema: _, roots, spillDir, cacheDir, ...others } = result.data
  const absolute = (value: string) => absolutePath(value, { cwd: dirname(file), home })
  return {
    ...others,
    roots: roots?.map(absolute),
    spillDir: spillDir === undefined || spillDir === 'auto' ? spillDir : absolute(spillDir),
    cacheDir: cacheDir && absolute(cacheDir),
  }
}

function parsed(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8').replace(/^\ufeff/, ''))
  } catch (cause) {
    const { message } = cause as Error
    throw invalidConfig(`The configuration ${file} cannot be read: ${message}`, { file })
  }
}

function refusal(file: string, issue: z.core.$ZodIssue | undefined) {
  const known = Object.keys(ConfigSchema.shape).filter((key) => key !== '$schema')
  if (issue?.code === 'unrecognized_keys') {
    const [key] = issue.keys
    return invalidConfig(`Key ${JSON.stringify(key)} in ${file} is unknown; the keys are ${known.join(', ')}`, {
      file,
      key,
      known,
    })
  }
  const key = issue?.path.join('.') ?? ''
  if (key === '') return invalidConfig(`The configuration ${file} holds no JSON object`, { file })
  return invalidConfig(`Key ${JSON.stringify(key)} in ${file} is wrong; give ${issue?.message}`, { file, key })
}
