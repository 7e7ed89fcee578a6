// The configuration file and `dsh-ref config`: what may be set, what holds, and why.

import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import * as z from 'zod'
import { DEFAULT_LIMITS } from '../decode/decode.ts'
import { invalidConfig } from '../errors.ts'
import { DEFAULT_CONTEXT_FRACTION, MAX_REFERENCES } from '../pipeline.ts'
import { cacheDirectory } from '../title-index.ts'
import { type Config, configPath, readConfig } from './config-file.ts'
import { oneOf, optionsOf } from './options.ts'
import type { CommandBody, CommandContext } from './print.ts'
import { absolutePath, resolveRoots } from './roots.ts'

const path = () => z.string('a path').min(1, 'a path that is not empty')
const count = (min: number, max = Number.MAX_SAFE_INTEGER) => {
  const allowed =
    max === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`
  return z.int(allowed).min(min, allowed).max(max, allowed)
}

/** What may stand in the file. */
export const ConfigSchema = z
  .strictObject({
    $schema: z.string().optional().describe('For editors; not read'),
    roots: z.array(path(), 'a list of paths').min(1, 'a list with a path in it').optional(),
    spillDir: path().optional().describe('A directory, or "auto"'),
    cacheDir: path().optional(),
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
  const { $schema: _, roots, spillDir, cacheDir, ...numbers } = result.data
  const absolute = (value: string) => absolutePath(value, { cwd: dirname(file), home })
  return {
    ...numbers,
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

/** A setting as it holds. */
interface Effective {
  readonly value: unknown
  /** `--root`, a variable, the file, or `default`. */
  readonly from: string
}

/** `config`: prints what holds and where it comes from. */
export const config: CommandBody = async (context, _, options) => {
  const { format = 'table' } = optionsOf(options, { format: oneOf(['table', 'json']) })
  const file = configPath(context.env, context.home)
  const set = await readConfig(process.env)
  const settings = effective(context, set)
  if (format === 'json') {
    await context.print.json({ schemaVersion: 1, file, hasFile: existsSync(file), settings })
    return
  }
  const { displayWidth, padToWidth, visible } = await import('../render/text.ts')
  const rows = Object.entries(settings).map(([key, { value, from }]) => [key, shown(value), from] as const)
  const lines = [['SETTING', 'VALUE', 'FROM'] as const, ...rows].map((row) => row.map(visible))
  const widths = [0, 1].map((column) => Math.max(...lines.map((line) => displayWidth(line[column] ?? ''))))
  const table = lines.map(
    ([key = '', value = '', from = '']) =>
      `${padToWidth(key, widths[0] as number)}  ${padToWidth(value, widths[1] as number)}  ${from}\n`,
  )
  await context.print.out(`${table.join('')}\nFile: ${visible(file)}${existsSync(file) ? '' : ' (not there)'}\n`)
}

function effective(context: CommandContext, set: Config): Record<string, Effective> {
  const { from, paths } = resolveRoots(context)
  const fromFile = (key: keyof Config, otherwise: unknown): Effective =>
    set[key] === undefined ? { value: otherwise, from: 'default' } : { value: set[key], from: 'file' }
  const directory = (key: 'spillDir' | 'cacheDir', variable: string, otherwise: string | null): Effective =>
    process.env[variable] ? { value: process.env[variable], from: variable } : fromFile(key, otherwise)
  return {
    roots: { value: paths, from },
    spillDir: directory('spillDir', 'DSH_REF_SPILL_DIR', null),
    cacheDir: directory('cacheDir', 'DSH_REF_CACHE_DIR', cacheDirectory(context.env, context.home)),
    maxReferences: fromFile('maxReferences', MAX_REFERENCES),
    maxReferenceBytes: fromFile('maxReferenceBytes', null),
    contextWindow: fromFile('contextWindow', null),
    referenceContextFraction: fromFile('referenceContextFraction', DEFAULT_CONTEXT_FRACTION),
    maxRowBytes: fromFile('maxRowBytes', DEFAULT_LIMITS.maxRowBytes),
    maxLogBytes: fromFile('maxLogBytes', DEFAULT_LIMITS.maxLogBytes),
    maxWindowBytes: fromFile('maxWindowBytes', DEFAULT_LIMITS.maxWindowBytes),
  }
}

function shown(value: unknown): string {
  if (value === null) return '-'
  return Array.isArray(value) ? value.join(', ') : String(value)
}
