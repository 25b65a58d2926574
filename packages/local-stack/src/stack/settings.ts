import { fileURLToPath } from 'node:url'

/** Environment variables. An empty variable counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * The folder of the stack if `SLUICE_HOME` is unset: `.sluice` at the root of the repository
 * (design.md §2, npm start).
 */
export const defaultHome = fileURLToPath(new URL('../../../../.sluice', import.meta.url))

/**
 * Returns the number of worker processes of `npm start`: `WORKERS`, or 1 if it is unset (design.md §2, Ports). Throws
 * if the value is invalid.
 */
export function workerCount(env: Environment): number {
  return wholeNumber(env, 'WORKERS', 1, 1, 100)
}

/** Returns a port: `fallback` if the variable is unset, 0 for any free port. Throws if the value is invalid. */
export function portSetting(env: Environment, name: string, fallback: number): number {
  return wholeNumber(env, name, fallback, 0, 65_535)
}

function wholeNumber(env: Environment, name: string, fallback: number, least: number, most: number): number {
  const text = env[name]
  if (!text) return fallback
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < least || value > most) {
    throw new Error(`${name} must be a whole number from ${least} to ${most}`)
  }
  return value
}
