export { rateLimit } from './formats.ts'
export { readSettings, SettingsError } from './read.ts'
export { queueNames, type SettingName, type Settings, settings } from './settings.ts'
export { type SharedStore, sharedStore } from './shared-store.ts'
