import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createAccessKey } from '@sluice/access-keys'
import { createApp } from '@sluice/accounts'
import { pathOf } from '@sluice/bucket-uploads'
import { readSettings } from '@sluice/config'
import { registerUsers } from '@sluice/profiles'
import { send } from '@sluice/s3-endpoint/testing'
import { addOperator } from '@sluice/sign-in'
import { signIn } from '../../dashboard/visitor.ts'
import { updateAge } from '../../stack/client.ts'
import { appSettings } from './app-settings.ts'
import type { Deployment } from './deployment.ts'

export interface OtherServers {
  dashboard: string
  gateway: string
}

/** Clients of one more app, which use everything except the import over the API. */
export interface OtherClients {
  /** Repeats all requests until `over`. Returns how many of each kind were answered as they should be. */
  keepAsking(over: AbortSignal): Promise<Record<string, number>>
}

/** Pause between two requests of a kind, ms. */
const pauseMs = 250

/** Creates the app, its access key, and the session of an operator in the dashboard. */
export async function openOtherClients(
  { api, db, storageSettings }: Deployment,
  { dashboard, gateway }: OtherServers,
): Promise<OtherClients> {
  const email = `${randomUUID()}@example.com`
  const { appId, apiToken } = await createApp(db, { name: 'Others', email })
  await registerUsers(db, appId, ['u1'])
  const { ENCRYPTION_KEYS } = readSettings(appSettings, ['ENCRYPTION_KEYS'])
  const { accessKeyId, secretAccessKey } = await createAccessKey(db, ENCRYPTION_KEYS, appId)
  await addOperator(db, email)
  const visitor = await signIn({ db, url: dashboard }, email)

  const bucket = storageSettings.S3_BUCKET
  const path = pathOf(appId)
  const toGateway = async (method: string, target: string, body?: Buffer) =>
    (await send(gateway, { method, path: target, accessKeyId, secretAccessKey, ...(body && { body }) })).status
  const pages = [`/apps/${appId}/imports`, `/apps/${appId}/profiles?user=u1`, `/apps/${appId}/data-import`, '/queues']
  const kinds: Record<string, { expected: number; ask(index: number): Promise<number> }> = {
    'profile updates': {
      expected: 202,
      ask: async (age) => (await updateAge(api, apiToken, { user: 'u1', age }, AbortSignal.timeout(5_000))).status,
    },
    'uploads to the S3 gateway': {
      expected: 200,
      ask: (index) => toGateway('PUT', `/${bucket}/${path}${index}.csv`, Buffer.from(`user_id,age\nu1,${index}\n`)),
    },
    'listings of the S3 gateway': {
      expected: 200,
      ask: () => toGateway('GET', `/${bucket}?list-type=2&prefix=${encodeURIComponent(path)}`),
    },
    'pages of the dashboard': {
      expected: 200,
      ask: async (index) => (await visitor.get(pages[index % pages.length] ?? '')).status,
    },
  }
  return {
    async keepAsking(over) {
      const answered: Record<string, number> = {}
      const asking = Object.entries(kinds).map(async ([kind, { expected, ask }]) => {
        answered[kind] = 0
        for (let index = 0; !over.aborted; index++) {
          // Requests fail while a fault lasts.
          if ((await ask(index).catch(() => 0)) === expected) answered[kind]++
          await delay(pauseMs)
        }
      })
      await Promise.all(asking)
      return answered
    },
  }
}
