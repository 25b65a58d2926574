import { buildApi } from '@sluice/api-app/src/api.ts'
import { readSettings } from '@sluice/config'
import type { ProfileEntry } from '@sluice/contract'
import { connect } from '@sluice/database'
import { deletionRequestSettings, deletionSettings, runDeletions } from '@sluice/deletions'
import {
  approveImport,
  type ClaimedImport,
  cancelImport,
  claimImport,
  claimNext,
  dispatchNextInOrder,
  type ImportId,
  importSettings,
  pauseImports,
  receiveSettings,
  reportCancelled,
  runImport,
  withdrawNext,
} from '@sluice/imports'
import { joinedProfileUpdates } from '@sluice/profiles'
import { openStorage, storageSettings } from '@sluice/storage'
import { pino } from 'pino'
import type { ActorSettings } from './actor.ts'

/** The operations that actors run, with their arguments: functions of the product, or short sequences of them. */
interface Operations {
  warmUp: undefined
  /** Claims an import and runs it to its end. */
  claimAndRun: ImportId
  /** Runs an import that was claimed before. */
  run: ClaimedImport
  claimNext: undefined
  updateProfile: { appId: number; userId: string; entries: ProfileEntry[] }
  approve: { importId: string }
  cancel: { importId: string }
  runDeletions: { now: string }
  /** The tasks of maintenance that concern claims. */
  maintain: { appId: number }
  pause: { appId: number }
  firstRequest: { token: string; key: string; body: unknown }
}

export type OperationName = keyof Operations
export type Operation<Name extends OperationName> = Operations[Name]

/** Number of connections of an actor. They are opened before the gate closes. */
const connections = 3

export async function openOperations({ databaseUrl, storage: storageEnvironment, environment }: ActorSettings) {
  const { db, close } = connect(databaseUrl, { connections })
  const at = readSettings(storageEnvironment, storageSettings)
  const storage = openStorage(at)
  const names = [...deletionRequestSettings, ...deletionSettings, ...importSettings, ...receiveSettings]
  const settings = readSettings({ API_URL: 'http://api.test', ...environment }, names)
  const context = { db, storage, settings, log: pino({ level: 'silent' }) }
  const api = buildApi({ ...context, apiUrl: settings.API_URL })
  await api.ready()
  const update = joinedProfileUpdates(db, settings.PROFILE_KEY_LIMIT)
  const never = new AbortController().signal
  const run = async (claim: ClaimedImport) => (await runImport(context, claim, never)).outcome

  const operations: { [Name in OperationName]: (argument: Operation<Name>) => Promise<unknown> } = {
    async warmUp() {
      // Each connection is held until all of them are open.
      const allOpen = Promise.withResolvers<void>()
      let open = 0
      const holdOne = async () => {
        open++
        if (open === connections) allOpen.resolve()
        await allOpen.promise
      }
      await Promise.all(Array.from({ length: connections }, () => db.connection().execute(holdOne)))
    },
    async claimAndRun(id) {
      const claim = await claimImport(context, id)
      return claim === undefined ? 'not claimed' : await run(claim)
    },
    run,
    claimNext: async () => await claimNext(context),
    updateProfile: async ({ appId, userId, entries }) => await update(appId, userId, entries),
    approve: async ({ importId }) => (await approveImport(db, importId)).outcome,
    cancel: async ({ importId }) => (await cancelImport(db, importId)).outcome,
    runDeletions: async ({ now }) => (await runDeletions(context, new Date(now))).completed,
    async maintain({ appId }) {
      await dispatchNextInOrder(context, appId)
      await withdrawNext(context)
      await reportCancelled(context)
      return (await dispatchNextInOrder(context, appId)).length
    },
    pause: async ({ appId }) => await pauseImports(db, appId),
    async firstRequest({ token, key, body }) {
      const response = await api.inject({
        method: 'POST',
        url: '/v3/user_profiles/bulk_import',
        headers: { 'x-service-token': token, 'idempotency-key': key },
        payload: body as object,
      })
      return { status: response.statusCode, importId: response.headers['x-import-id'] ?? null }
    },
  }
  return {
    run: (name: string, argument: unknown) =>
      (operations[name as OperationName] as (argument: unknown) => Promise<unknown>)(argument),
    async close() {
      await api.close()
      storage.close()
      await close()
    },
  }
}
