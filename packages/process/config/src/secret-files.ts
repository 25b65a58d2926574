import { readFileSync } from 'node:fs'

export type Environment = Record<string, string | undefined>

/** The text of a setting, or why it cannot be read. An empty variable counts as unset. */
export type Text = { text: string | undefined } | { problem: string }

/**
 * Reads a secret from its variable, or from the file that `NAME_FILE` names, without the line break at the end
 * (second-day.md §7, Secrets from files). Both together are a problem, since nobody could tell which one applies.
 */
export function secretText(environment: Environment, name: string): Text {
  const path = environment[`${name}_FILE`]
  if (!path) return { text: environment[name] }
  if (environment[name]) return { problem: `${name} and ${name}_FILE are both set: keep one of them` }
  try {
    return { text: withoutLineBreak(readFileSync(path, 'utf8')) }
  } catch (error) {
    return { problem: `${name}_FILE cannot be read: ${codeOf(error)}` }
  }
}

/**
 * Adds the file of the database's password to the address of the database. The connections read the file themselves, so
 * that the password can change while the process runs. Here the file is only checked.
 */
export function withPasswordFile(environment: Environment, address: string): Text {
  const path = environment.DATABASE_PASSWORD_FILE
  if (!path) return { text: address }
  if (/^\w+:\/\/[^/?]*:[^/?]*@/.test(address))
    return { problem: 'DATABASE_URL has a password, and DATABASE_PASSWORD_FILE is set: keep one of them' }
  try {
    readFileSync(path)
  } catch (error) {
    return { problem: `DATABASE_PASSWORD_FILE cannot be read: ${codeOf(error)}` }
  }
  return { text: `${address}${address.includes('?') ? '&' : '?'}password_file=${encodeURIComponent(path)}` }
}

function withoutLineBreak(text: string): string {
  return text.replace(/\r?\n$/, '')
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
