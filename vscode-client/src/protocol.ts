/** What jaxpert's server answers beyond the language server protocol. */

export interface Status {
  server: { version: string; python: string; pythonVersion: string };
  /** Null for a document that is not analysed. */
  jax: { version: string; origin: string } | null;
  rules: { enabled: number; known: number } | null;
  isIndexing: boolean;
  /** Packages that the server can use and does not find. */
  missing: string[];
}

export interface RuleName {
  code: string;
  name: string;
  summary: string;
}

/** A place in a document, as the protocol writes it. */
export interface PlaceParams {
  uri: string;
  position: { line: number; character: number };
}

/** What is sent, and what is answered, by method. */
export interface Requests {
  /** With a `uri` also about that document. */
  "jaxpert/status": [{ uri?: string }, Status | null];
  "jaxpert/rules": [object, RuleName[]];
  /** The page of a rule, given by name or code, in Markdown. */
  "jaxpert/rulePage": [{ name: string }, string | null];
  /** What the policy at a place does, in Markdown. */
  "jaxpert/policyPage": [PlaceParams, string | null];
}

/** A notification without parameters: it is worth asking for the status again. */
export const STATUS_CHANGED = "jaxpert/statusChanged";

/** The command that code lenses name: a URI, a position in it, and locations. */
export const SHOW_PLACES = "jaxpert.showPlaces";
