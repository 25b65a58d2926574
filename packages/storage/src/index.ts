export { ObjectGone, ObjectReplaced, StorageFull } from './errors.ts'
export { openStorage, type Storage, storageSettings, type UploadTerms } from './storage.ts'
