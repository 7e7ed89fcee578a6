// `dsh-ref __assets`: what the build makes of the program's own words and shapes: the man page and the JSON Schemas.

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import * as z from 'zod'
import { WriteGuard } from '../files/write-guard.ts'
import { schemaFiles } from '../schemas.ts'
import { VERSION } from '../version.ts'
import { ConfigSchema } from './config-schema.ts'
import { renderMan } from './man.ts'
import type { CommandBody } from './print.ts'
import { resolveRoots } from './roots.ts'

/** Writes them below a directory. */
export const assets: CommandBody = async (context, [directory = 'dist']) => {
  const config = { title: 'dsh-ref.json', ...z.toJSONSchema(ConfigSchema) }
  const schemas = { ...schemaFiles(), 'config.schema.json': `${JSON.stringify(config, null, 2)}\n` }
  const guard = new WriteGuard(resolveRoots(context).paths)
  const files = [
    ['man/dsh-ref.1', renderMan(VERSION)],
    ...Object.entries(schemas).map(([name, text]) => [`schemas/${name}`, text]),
  ].map(([name = '', text = '']) => {
    const path = resolve(context.cwd, directory, name)
    return [guard.allow({ path, what: 'asset', advice: 'name a directory elsewhere' }), text] as const
  })
  for (const [path, text] of files) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
}
