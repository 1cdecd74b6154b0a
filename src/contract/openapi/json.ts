/** JSON as it stands in the description. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }
export interface JsonObject {
  [key: string]: Json
}
