/** What the status bar says, as text. */

import type { Status } from "./protocol";

export interface StatusText {
  label: string;
  /** Markdown, one paragraph each. */
  details: string[];
  isWarning: boolean;
}

/** What to show about a server: why it does not run, else what it answered, undefined while it has not yet. */
export function statusText(problem: string | undefined, isRunning: boolean, status: Status | undefined): StatusText {
  if (problem !== undefined) {
    return { label: "$(error) jaxpert", details: [`jaxpert does not run: ${problem}`], isWarning: true };
  }
  if (!isRunning) {
    return { label: "$(circle-slash) jaxpert", details: ["jaxpert does not run here."], isWarning: false };
  }
  if (status === undefined) {
    return { label: "$(sync~spin) jaxpert", details: ["jaxpert starts."], isWarning: false };
  }
  const { server, jax, rules, missing } = status;
  const details = [];
  if (jax !== null) {
    details.push(`**JAX ${jax.version}** · ${jax.origin}`);
  }
  if (rules !== null) {
    details.push(
      rules.enabled === rules.known ? `${rules.known} rules` : `${rules.enabled} of ${rules.known} rules are switched on`,
    );
  }
  if (status.isIndexing) {
    details.push("Looking for checkpoint names in the project …");
  }
  if (missing.includes("libcst")) {
    details.push("Some fixes are missing: `libcst` is not installed for the Python that runs the server.");
  }
  details.push(`jaxpert ${server.version} · Python ${server.pythonVersion}`, `\`${server.python}\``);
  const icon = status.isIndexing ? "$(sync~spin) " : missing.length > 0 ? "$(info) " : "";
  return { label: `${icon}${jax === null ? "jaxpert" : `JAX ${jax.version}`}`, details, isWarning: false };
}
