import { readSettings } from '@sluice/config'
import type { ProfileEntry } from '@sluice/contract'
import { connect, sql } from '@sluice/database'
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
  undoImport,
  withdrawNext,
} from '@sluice/imports'
import { changeKeys, joinedProfileUpdates, registerUsers, removeValue } from '@sluice/profiles'
import { openStorage, storageSettings } from '@sluice/storage'
import { pino } from 'pino'
import type { ActorSettings } from './actor.ts'

/** How an import is cut. */
export interface Cut {
  /** Each row is a batch, and each batch looks whether the slice is over. */
  rowByRow?: boolean
}

/** The actions that actors run, with their arguments: functions of the product, or short sequences of them. */
interface Actions {
  warmUp: undefined
  /** Claims an import and runs it to its end. */
  claimAndRun: ImportId & Cut
  /** Runs an import that was claimed before. */
  run: { claim: ClaimedImport } & Cut
  /** The same, and claims the import again if the claim was lost. */
  runAgain: { claim: ClaimedImport } & Cut
  /** Lets the lease of an import run out, claims the import and runs it to its end. */
  takeOver: ImportId & Cut
  /** The same, and shuts down as soon as so many batches are committed. */
  takeOverBatches: ImportId & Cut & { batches: number }
  claimNext: undefined
  updateProfile: { appId: number; userId: string; entries: ProfileEntry[] }
  removeValue: { appId: number; userId: string; key: string }
  setKey: { appId: number; key: string; enabled: boolean }
  approve: ImportId
  cancel: ImportId
  runDeletions: { now: string }
  /** Deletes users whose deletion is due, and registers one of them again. */
  deleteAndRegister: { now: string; appId: number; userId: string }
  /** Queues the undo of an import, and runs it if it is next. */
  undo: ImportId
  /** The tasks of maintenance that concern claims. */
  maintain: { appId: number }
  pause: { appId: number }
  firstRequest: { token: string; key: string; body: unknown }
}

export type ActionName = keyof Actions
export type Action<Name extends ActionName> = Actions[Name]

/** Number of connections of an actor. They are opened before the gate closes. */
const connections = 3

export async function openActions({ databaseUrl, storage: storageEnvironment, environment }: ActorSettings) {
  const { db, close } = connect(databaseUrl, { connections })
  const at = readSettings(storageEnvironment, storageSettings)
  const storage = openStorage(at)
  const names = [...deletionRequestSettings, ...deletionSettings, ...importSettings, ...receiveSettings]
  const settings = readSettings({ API_URL: 'http://api.test', ...environment }, names)
  const context = { db, storage, settings, log: pino({ level: 'silent' }) }
  let api: ReturnType<typeof openApi> | undefined
  const openApi = async () => {
    // Most actions do without it, and loading it costs more than all the rest.
    const { buildApi } = await import('@sluice/api-app/src/api.ts')
    return buildApi({ ...context, apiUrl: settings.API_URL })
  }
  const update = joinedProfileUpdates(db, settings.PROFILE_KEY_LIMIT)
  const never = new AbortController().signal
  const rowByRow = { ...context, settings: { ...settings, BATCH_ROWS: 1, IMPORT_SLICE: 1 } }
  const contextOf = (cut: Cut) => (cut.rowByRow === true ? rowByRow : context)
  const run = async (claim: ClaimedImport, cut: Cut) => (await runImport(contextOf(cut), claim, never)).outcome
  // A batch that commits renews the lease, so that the orders themselves must contain its end.
  const endLease = async ({ importId }: ImportId) =>
    await sql`update imports set lease_until = now() - interval '1 s'
      where import_id = ${importId} and lease_until is not null`.execute(db)
  const claimAndRun = async (id: ImportId & Cut) => {
    const claim = await claimImport(context, id)
    return claim === undefined ? 'not claimed' : await run(claim, id)
  }

  const actions: { [Name in ActionName]: (argument: Action<Name>) => Promise<unknown> } = {
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
    claimAndRun,
    run: async ({ claim, ...cut }) => await run(claim, cut),
    async runAgain({ claim, ...cut }) {
      const outcome = await run(claim, cut)
      return outcome === 'lost' ? await claimAndRun({ ...claim, ...cut }) : outcome
    },
    async takeOver(id) {
      await endLease(id)
      return await claimAndRun(id)
    },
    async takeOverBatches({ batches, ...id }) {
      await endLease(id)
      const claim = await claimImport(context, id)
      const shutdown = new AbortController()
      let left = batches
      const onBatch = () => void (--left === 0 && shutdown.abort())
      return claim && (await runImport({ ...contextOf(id), onBatch }, claim, shutdown.signal)).outcome
    },
    claimNext: async () => await claimNext(context),
    updateProfile: async ({ appId, userId, entries }) => await update(appId, userId, entries),
    removeValue: async ({ appId, userId, key }) => await removeValue(db, appId, userId, key),
    setKey: async ({ appId, key, enabled }) =>
      await changeKeys(db, appId, { keys: [key], enabled }, settings.PROFILE_KEY_LIMIT),
    approve: async (id) => (await approveImport(db, id)).outcome,
    cancel: async (id) => (await cancelImport(db, id)).outcome,
    runDeletions: async ({ now }) => (await runDeletions(context, new Date(now))).completed,
    async deleteAndRegister({ now, appId, userId }) {
      await runDeletions(context, new Date(now))
      await registerUsers(db, appId, [userId])
    },
    async undo({ appId, importId }) {
      await claimAndRun({ appId, importId: await undoImport(context, { appId, importId }) })
    },
    async maintain({ appId }) {
      await dispatchNextInOrder(context, appId)
      await withdrawNext(context)
      await reportCancelled(context)
      return (await dispatchNextInOrder(context, appId)).length
    },
    pause: async ({ appId }) => await pauseImports(db, appId),
    async firstRequest({ token, key, body }) {
      api ??= openApi()
      const response = await (await api).inject({
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
      (actions[name as ActionName] as (argument: unknown) => Promise<unknown>)(argument),
    async close() {
      await (await api)?.close()
      storage.close()
      await close()
    },
  }
}
