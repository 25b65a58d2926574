import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { sharedModules, useSharedModules } from './shared-modules.ts'

/** A file that browsers load in addition to pages. */
interface Asset {
  type: string
  body: Buffer
}

const script = 'text/javascript; charset=utf-8'

/** The folder of the scripts. They are TypeScript; Node strips the types, and there is no other build step. */
const scripts = new URL('../browser/', import.meta.url)

const assets = new Map<string, Asset>([
  ['style.css', { type: 'text/css; charset=utf-8', body: readFileSync(new URL('style.css', import.meta.url)) }],
  ['icon.svg', { type: 'image/svg+xml', body: readFileSync(new URL('icon.svg', import.meta.url)) }],
  ...[...browserScripts(scripts), ...sharedModules()].map(
    ([name, source]) => [name, { type: script, body: javaScript(name, source) }] as const,
  ),
])

function browserScripts(folder: URL): [name: string, source: string][] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => [name, useSharedModules(name, readFileSync(new URL(name, folder), 'utf8'))])
}

function javaScript(name: string, source: string): Buffer {
  return Buffer.from(stripTypeScriptTypes(source, { sourceUrl: name }))
}

/** The hash of all assets. Sharing one hash lets scripts import each other by relative paths. */
export const version = createHash('sha256')
  .update([...assets].map(([name, { body }]) => `${name}\0${body.length}\0${body.toString('latin1')}`).join('\0'))
  .digest('hex')
  .slice(0, 16)

/** Returns the asset of this name; undefined if there is none. */
export function findAsset(name: string): Asset | undefined {
  return assets.get(name)
}

/** Returns the path of an asset. Throws if there is no asset of this name. */
export function assetPath(name: string): string {
  if (!assets.has(name)) throw new Error(`there is no asset ${name}`)
  return `/assets/${version}/${name}`
}
