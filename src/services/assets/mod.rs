//! Assets: identity, location, linked files, calibration computed at each read, utilization.

mod history;
mod lookup;
mod query;
mod store;
mod utilization;

pub(in crate::services) use utilization::delete_of_asset as delete_utilizations;

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::model::{
    Asset, AssetId, AssetSummary, AssetUtilizationHistoryResponse, CreateAssetRequest,
    CreateAssetsPartialSuccess, DeleteAssetsResponse, FileId, LinkFilesPartialSuccessResponse,
    QueryAssetUtilizationHistoryRequest, QueryAssetsRequest, QueryAssetsResponse, Resource,
    StartUtilizationPartialSuccess, StartUtilizationRequest, SystemConnection, UpdateAssetRequest,
    UpdateAssetsPartialSuccess, UpdateUtilizationPartialSuccess,
};
use crate::services::batch;
use crate::services::declare::service;
use crate::services::queries;
use crate::services::service_record::{ServiceRecord, found, get};
use crate::session::{Access, Draft, Plan, What};
use crate::value::{Env, limits};

service! {
/// Instruments, devices under test, fixtures and systems: their identity, location, calibration and
/// utilization.
///
/// The calibration status and the due date are computed at every read from stored dates and the
/// store's clock, so a filter on them stays correct as time passes, without a write. Items of a
/// batch are validated one by one; failed items are returned as they were sent, each with one inner
/// error.
///
/// Methods may be added until version 1.0.
pub trait AssetService {
    /// Creates up to 1000 assets.
    ///
    /// The identity of an asset consists of its bus type, its model and vendor (each compared by
    /// number, or by name if one of the two assets has no number), and its serial number, or its
    /// system if it has no serial number. An identity that exists is rejected, never merged.
    ///
    /// # Errors
    /// In the response, for each item: `InvalidArgument` for an incomplete identity, a missing
    /// location or presence, or an incomplete calibration, `Conflict` for an identity that exists,
    /// `LimitExceeded` for a collection of more than 1000 entries, `PermissionDenied`. For the
    /// call: `LimitExceeded` above 1000 items, and errors of the disk.
    ///
    /// The calibration of a multimeter, from the day it is entered to the day it is due:
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// use std::sync::Arc;
    /// use stationdb::{Identity, ManualClock, StoreOptions};
    /// use stationdb::assets::{
    ///     AssetService, CalibrationStatus, CreateAssetRequest, QueryAssetsRequest,
    /// };
    ///
    /// let clock = Arc::new(ManualClock::new("2024-03-01T08:00:00Z".parse()?));
    /// let store = StoreOptions::default().shared_clock(clock.clone()).open(dir.path())?;
    /// let session = store.session(Identity::user("ada"));
    /// let multimeter: CreateAssetRequest = serde_json::from_str(r#"{
    ///     "name": "DMM 1", "modelName": "PXI-4071", "vendorName": "NI", "serialNumber": "01D6A3F0",
    ///     "busType": "PCI_PXI", "isNIAsset": true,
    ///     "location": {"minionId": "station-1", "slotNumber": 3, "state": {"assetPresence": "PRESENT"}},
    ///     "externalCalibration": {
    ///         "date": "2024-02-29T00:00:00Z", "recommendedInterval": 24,
    ///         "nextRecommendedDate": "2026-02-28T00:00:00Z", "entryType": "MANUAL"}}"#)?;
    /// let created = session.create_assets(vec![multimeter])?;
    /// let id = created.assets.unwrap_or_default()[0].id.clone().unwrap_or_default();
    /// assert_eq!(session.get_asset(&id)?.calibration_status, Some(CalibrationStatus::Ok));
    ///
    /// // Nothing is written; time passes.
    /// clock.set("2026-02-01T08:00:00Z".parse()?);
    /// let due_soon = QueryAssetsRequest::new()
    ///     .filter(r#"CalibrationStatus = "APPROACHING_RECOMMENDED_DUE_DATE""#);
    /// assert_eq!(session.query_assets(due_soon)?.assets.map(|assets| assets.len()), Some(1));
    /// # Ok(())
    /// # }
    /// ```
    #[writes]
    fn create_assets(&self, assets: Vec<CreateAssetRequest>) -> Result<CreateAssetsPartialSuccess> {
        batch::check_len("assets", assets.len(), limits::BATCH_ITEMS)?;
        self.write(move |draft| {
            let create = |draft: &mut Draft<'_>, request| {
                let created = store::create(draft, request)?;
                Ok(created.read_at(&draft.view().env()))
            };
            batch::create::<Asset, _, _>(draft, assets, |item| item.name.as_ref(), create)
        })
        .map(Into::into)
    }

    /// The asset with this id.
    ///
    /// # Errors
    /// `NotFound` if no asset that the caller may see has this id.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.get_asset(&id)?.model_name.as_deref(), Some("PXI-4071"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    ///
    /// The compiler rejects an id of another kind:
    ///
    /// ```compile_fail,E0308
    #[doc = include_str!("example.txt")]
    /// session.get_asset(&stationdb::products::ProductId::from("1"))?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_asset(&self, id: &AssetId) -> Result<Asset> {
        get(self, id)
    }

    /// Returns one page of the assets that match, in order of creation by default.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, with its position, for a negative skip, and for a
    /// take below -1 or above 1000.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let page = session.query_assets(QueryAssetsRequest::new().filter("ModelName ==
    /// \"PXI-4071\""))?; assert_eq!(page.assets.unwrap_or_default().len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_assets(&self, query: QueryAssetsRequest) -> Result<QueryAssetsResponse> {
        queries::page(self, &query).map(Into::into)
    }

    /// Explains how a query is executed, and how many records it reads.
    ///
    /// # Errors
    /// As [`AssetService::query_assets`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// println!("{}", session.explain_query_assets(QueryAssetsRequest::new())?);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_assets(&self, query: QueryAssetsRequest) -> Result<Plan> {
        queries::explain(self, &query)
    }

    /// Updates up to 1000 assets, each found by its id, or by its identity if the id is absent.
    /// None is created. Members that are absent keep their values. The members of the identity are
    /// not changed, except that an asset may move to another system.
    ///
    /// # Errors
    /// In the response, for each item: `NotFound`, `PermissionDenied`, `Conflict` if the update
    /// removes the asset from a place that it is not in, and as in [`AssetService::create_assets`].
    /// For the call: `LimitExceeded` above 1000 items, and errors of the disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let change = UpdateAssetRequest::new().id(id).name("DMM 1");
    /// assert_eq!(session.update_assets(vec![change])?.failed, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn update_assets(&self, assets: Vec<UpdateAssetRequest>) -> Result<UpdateAssetsPartialSuccess> {
        batch::check_len("assets", assets.len(), limits::BATCH_ITEMS)?;
        self.write(move |draft| {
            batch::run(draft, Asset::UMBRELLA, assets, |draft, position, request| {
                let updated = store::update(draft, request);
                let updated = updated.map(|asset| asset.read_at(&draft.view().env()));
                updated.map_err(batch::about_unnamed(Asset::KIND.name, None, position))
            })
        })
        .map(Into::into)
    }

    /// Deletes up to 1000 assets with their utilization history.
    ///
    /// # Errors
    /// In the response, for each id: `NotFound`, `PermissionDenied`. For the call: `LimitExceeded`
    /// above 1000 ids, and errors of the disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.delete_assets(vec![id])?.failed, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_assets(&self, ids: Vec<AssetId>) -> Result<DeleteAssetsResponse> {
        batch::check_len("asset ids", ids.len(), limits::BATCH_ITEMS)?;
        self.write(move |draft| batch::delete_with(draft, ids, utilization::delete_of_asset))
            .map(Into::into)
    }

    /// Links up to 1000 files to an asset; returns `None` if all are linked. The files need not
    /// exist. A file that is linked already counts as linked.
    ///
    /// # Errors
    /// In the response, for each file: `InvalidArgument` for a blank id, `LimitExceeded` if the
    /// asset would have more than 1000 files. For the call: `NotFound` for an unknown asset,
    /// `PermissionDenied`, `LimitExceeded` above 1000 ids.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.link_files(&id, vec!["report".into()])?, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn link_files(
        &self,
        asset_id: &AssetId,
        file_ids: Vec<FileId>,
    ) -> Result<Option<LinkFilesPartialSuccessResponse>> {
        batch::check_len("file ids", file_ids.len(), limits::BATCH_ITEMS)?;
        let asset_id = asset_id.to_owned();
        self.write(move |draft| {
            let mut asset = found(&asset_id, draft.get::<Asset>(&asset_id)?)?;
            let mut linked = asset.file_ids.take().unwrap_or_default();
            let file_ids = batch::distinct(file_ids);
            let outcome = batch::run(draft, Asset::UMBRELLA, file_ids, |_, _, file_id| {
                store::link(&asset_id, &mut linked, file_id)
            })?;
            if !outcome.succeeded.is_empty() {
                asset.file_ids = Some(linked);
                asset.touch(draft.now());
                draft.put(&asset, What::Updated)?;
            }
            Ok(outcome.unless_all_succeeded())
        })
    }

    /// Removes the link of an asset to a file. A file that is not linked is not an error.
    ///
    /// # Errors
    /// `NotFound` for an unknown asset, `PermissionDenied`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.unlink_file(&id, &"report".into())?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn unlink_file(&self, asset_id: &AssetId, file_id: &FileId) -> Result<()> {
        let (asset_id, file_id) = (asset_id.to_owned(), file_id.to_owned());
        self.write(move |draft| {
            let mut asset = found(&asset_id, draft.get::<Asset>(&asset_id)?)?;
            let linked = asset.file_ids.get_or_insert_default();
            let count = linked.len();
            linked.retain(|linked| linked.as_str() != file_id.as_str());
            if linked.len() == count {
                return Ok(());
            }
            asset.touch(draft.now());
            draft.put(&asset, What::Updated)
        })
    }

    /// Starts the use of up to 100 assets under one utilization identifier.
    ///
    /// # Errors
    /// In the response, for each asset: `NotFound` for an identity that no asset has,
    /// `InvalidArgument` for an incomplete one, `Conflict` if the asset already has a record under
    /// this identifier. For the call: `LimitExceeded` above 100 assets, and errors of the disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.start_utilization(start)?.failed, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn start_utilization(
        &self,
        request: StartUtilizationRequest,
    ) -> Result<StartUtilizationPartialSuccess> {
        batch::check_len(
            "assets",
            request.asset_identifications.len(),
            limits::UTILIZATION_ASSETS,
        )?;
        self.write(move |draft| utilization::start(draft, request))
    }

    /// Records a heartbeat for all running records of these utilization identifiers; `timestamp`
    /// replaces the clock.
    ///
    /// # Errors
    /// In the response, for each identifier: `NotFound`, `Conflict` if all its records have ended.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.start_utilization(start)?;
    /// assert_eq!(session.utilization_heartbeat(vec!["run-1".to_owned()], None)?.failed, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn utilization_heartbeat(
        &self,
        utilization_identifiers: Vec<String>,
        utilization_timestamp: Option<DateTime<Utc>>,
    ) -> Result<UpdateUtilizationPartialSuccess> {
        self.write(move |draft| {
            let change = utilization::Change::Heartbeat;
            utilization::change(draft, utilization_identifiers, utilization_timestamp, change)
        })
    }

    /// Ends all running records of these utilization identifiers; `timestamp` replaces the clock.
    ///
    /// # Errors
    /// In the response, for each identifier: `NotFound`, `Conflict` if all its records have ended,
    /// `InvalidArgument` if the end lies before the start.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.start_utilization(start)?;
    /// assert_eq!(session.end_utilization(vec!["run-1".to_owned()], None)?.failed, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn end_utilization(
        &self,
        utilization_identifiers: Vec<String>,
        utilization_timestamp: Option<DateTime<Utc>>,
    ) -> Result<UpdateUtilizationPartialSuccess> {
        self.write(move |draft| {
            let change = utilization::Change::End;
            utilization::change(draft, utilization_identifiers, utilization_timestamp, change)
        })
    }

    /// Returns one page of the utilization records whose span overlaps the range; by default the
    /// range is the last 90 days. A running record lasts until now. The cost grows with the answer,
    /// not with the history.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, a range that ends before it starts, a negative
    /// take, or an invalid token.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.start_utilization(start)?;
    /// let history =
    /// session.query_asset_utilization_history(QueryAssetUtilizationHistoryRequest::new())?;
    /// assert_eq!(history.asset_utilizations.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_asset_utilization_history(
        &self,
        query: QueryAssetUtilizationHistoryRequest,
    ) -> Result<AssetUtilizationHistoryResponse> {
        self.read(|view| history::query(view, &query).map(|(page, _)| page))
    }

    /// Explains how a history query is executed, and how many records and entries it reads.
    ///
    /// # Errors
    /// As [`AssetService::query_asset_utilization_history`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// println!("{}",
    /// session.explain_query_asset_utilization_history(QueryAssetUtilizationHistoryRequest::new())?);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_asset_utilization_history(
        &self,
        query: QueryAssetUtilizationHistoryRequest,
    ) -> Result<Plan> {
        self.read(|view| history::query(view, &query).map(|(_, plan)| plan))
    }

    /// Returns the ids of the assets in use now: those with a running record whose last heartbeat,
    /// or start, is younger than the timeout of the store.
    ///
    /// # Errors
    /// Errors of the disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.start_utilization(start)?;
    /// assert_eq!(session.assets_in_use()?, [id.as_str()]);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn assets_in_use(&self) -> Result<Vec<String>> {
        self.read(|view| Ok(utilization::assets_in_use(view)?.into_iter().collect()))
    }

    /// Returns counts over all visible assets at this moment.
    ///
    /// # Errors
    /// Errors of the disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.asset_summary()?.total, 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn asset_summary(&self) -> Result<AssetSummary> {
        self.read(|view| {
            let in_use = utilization::assets_in_use(view)?;
            let env: Env = view.env();
            let mut summary = AssetSummary::default();
            view.for_each::<Asset>(|asset| {
                store::count(&mut summary, &asset, &env, &in_use);
                Ok(true)
            })?;
            Ok(summary)
        })
    }

    /// For the host program: sets the connection of a system, which all its assets show from now
    /// on; `None` means unknown. Returns the number of assets that changed.
    ///
    /// # Errors
    /// `InvalidArgument` for a blank system; `PermissionDenied` unless the caller may update assets
    /// in every workspace, because the system may have assets in any of them.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.set_system_connection("station-1", Some(SystemConnection::Connected))?,
    /// 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn set_system_connection(
        &self,
        minion_id: &str,
        connection: Option<SystemConnection>,
    ) -> Result<u64> {
        if minion_id.trim().is_empty() {
            return Err(Error::invalid("the id of the system is blank").at_member("minionId"));
        }
        let minion_id = minion_id.to_owned();
        self.write(move |draft| store::set_connection(draft, &minion_id, connection))
    }
}
}
