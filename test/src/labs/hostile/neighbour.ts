import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createApp } from '@sluice/accounts'
import { registerUsers } from '@sluice/profiles'
import type { RunningStack } from '../../stack/running-stack.ts'
import { openTenant, type StackUrls } from './hostile-stack.ts'

/** Kinds of requests that another tenant repeats. */
export const requestKinds = ['profile update', 'first import request', 'gateway listing', 'sign-in page'] as const
export const smallImport = 'small import'
export type Kind = (typeof requestKinds)[number] | typeof smallImport

/** The measurement of one request, or of one import from its first request to its end. */
export interface Sample {
  kind: Kind
  /** Duration, ms. If the request has not ended, the time since its start. */
  ms: number
  /** Error message, if the request failed. */
  problem?: string
}

export interface NeighbourPlan {
  urls: StackUrls
  owner: { token: string; path: string; accessKeyId: string; secretAccessKey: string }
  /** Tokens of apps that are used in rotation, so that no rate limit is reached. */
  requesting: string[]
  importing: string[]
}

/** Another tenant. It has its own process, so that a busy attacker does not distort its measurements. */
export interface Neighbour {
  /** Returns the samples since the last call, including requests in flight. */
  take(): Promise<Sample[]>
  close(): Promise<void>
}

/**
 * Numbers of apps by use. An app may make ten first requests in ten minutes, so these apps suffice for the longest
 * attack.
 */
const appCounts = { requesting: 200, importing: 60 }

export async function openNeighbour(stack: RunningStack, urls: StackUrls): Promise<Neighbour> {
  const { token, path, accessKeyId, secretAccessKey } = await openTenant(stack, ['u1'])
  const tokens: string[] = []
  for (let index = 0; index < appCounts.requesting + appCounts.importing; index++) {
    const { appId, apiToken } = await createApp(stack.db, {
      name: 'Neighbour',
      email: `${crypto.randomUUID()}@example.com`,
    })
    await registerUsers(stack.db, appId, ['u1'])
    tokens.push(apiToken)
  }
  const plan: NeighbourPlan = {
    urls,
    owner: { token, path, accessKeyId, secretAccessKey },
    requesting: tokens.slice(appCounts.importing),
    importing: tokens.slice(0, appCounts.importing),
  }
  const child = fork(fileURLToPath(new URL('neighbour-process.ts', import.meta.url)), { execArgv: [] })
  child.send(plan)
  return {
    async take() {
      const answer = once(child, 'message')
      child.send('take')
      const [samples] = await answer
      return samples as Sample[]
    },
    async close() {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    },
  }
}
